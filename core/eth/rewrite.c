/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What flow entries make of frames: headers taken off and put on, VLAN tags,
 * fields and registers changed (PRM: Flow Context actions, Modify Header,
 * Packet Reformat; driver: fs_core.h, mlx5_ifc.h). In this order:
 *
 *   decapsulation, VLAN pop, changes, VLAN push, encapsulation
 *
 * Checksums that were right are right afterwards; wrong ones are left alone.
 */
#include "eth/eth_internal.h"

#define ACT(name) MLX5_FLOW_CONTEXT_ACTION_##name
#define MAC_BYTES 12

/* Make the frame ours to change, with @front bytes of room before it. */
static bool make_room(Mlx5Packet *p, size_t drop, size_t front)
{
    size_t len = p->len - drop + front;
    uint8_t *buf;

    if (drop > p->len || len > MLX5_ETH_MAX_FRAME) {
        return false;
    }
    buf = g_malloc(len);
    memcpy(buf + front, p->data + drop, p->len - drop);
    g_free(p->own);
    p->own = buf;
    p->data = buf;
    p->len = len;
    return true;
}

static void parsed_again(Mlx5Packet *p)
{
    mlx5_frame_parse(p->data, p->len, &p->info);
    p->checked = false;
}

/* Everything before the inner frame, or packet, goes; @l2 comes instead. */
static bool decap(Mlx5Packet *p, bool inner_l2, const uint8_t *l2,
                  uint32_t l2_len)
{
    Mlx5Tunnel t;

    mlx5_frame_parse_tunnel(p->data, &p->info, &p->func->eth->vxlan, &t);
    if (!t.has_inner || t.inner_l2 != inner_l2 ||
        !make_room(p, t.inner_off, l2_len)) {
        return false;
    }
    if (l2_len) {
        memcpy(p->own, l2, l2_len);
        /* The type is the packet's, whatever the context says. */
        mlx5_put_be16(p->own + l2_len - 2, t.inner.ethertype);
    }
    parsed_again(p);
    return p->len >= MLX5_ETH_HLEN;
}

/* Lengths and checksums of the headers put on, which span the frame now. */
static void fix_outer(Mlx5Packet *p)
{
    Mlx5FrameInfo *i = &p->info;

    mlx5_frame_fix_ip_len(p->own, p->len);
    parsed_again(p);
    mlx5_frame_set_l3_csum(p->own, i);
    if (i->udp) {
        mlx5_put_be16(p->own + i->l4_off + 4, i->l3_len - i->l3_hlen);
        /* A tunnel without a checksum stays without (RFC 7348 5). */
        if (mlx5_get_be16(p->own + i->l4_off + 6)) {
            mlx5_frame_set_l4_csum(p->own, i);
        }
    }
    parsed_again(p);
}

static bool encap(Mlx5Packet *p, const Mlx5Reformat *r)
{
    uint32_t drop = r->type == MLX5_REFORMAT_L2_TO_L3_TUNNEL
                        ? p->info.l3_off : 0;

    if (!make_room(p, drop, r->len)) {
        return false;
    }
    memcpy(p->own, r->data, r->len);
    fix_outer(p);
    return true;
}

/* The outermost tag goes; a frame without one cannot lose it. */
static bool vlan_pop(Mlx5Packet *p)
{
    uint8_t macs[MAC_BYTES];

    if (!p->info.cvlan && !p->info.svlan) {
        return false;
    }
    memcpy(macs, p->data, sizeof(macs));
    if (!make_room(p, MLX5_VLAN_HLEN, 0)) {
        return false;
    }
    memcpy(p->own, macs, sizeof(macs));
    parsed_again(p);
    return true;
}

static bool vlan_push(Mlx5Packet *p, uint32_t tag)
{
    if (!make_room(p, 0, MLX5_VLAN_HLEN)) {
        return false;
    }
    memmove(p->own, p->own + MLX5_VLAN_HLEN, MAC_BYTES);
    mlx5_put_be32(p->own + MAC_BYTES, tag);
    parsed_again(p);
    return true;
}

/* Bits @bit to @bit + @bits of the bytes at @b, most significant first. */
static uint32_t bits_get(const uint8_t *b, uint32_t bit, uint32_t bits)
{
    uint32_t v = 0;

    for (uint32_t i = bit; i < bit + bits; i++) {
        v = v << 1 | (b[i / 8] >> (7 - i % 8) & 1);
    }
    return v;
}

static void bits_set(uint8_t *b, uint32_t bit, uint32_t bits, uint32_t v)
{
    for (uint32_t i = bit + bits; i-- > bit; v >>= 1) {
        uint8_t m = 1 << (7 - i % 8);

        b[i / 8] = v & 1 ? b[i / 8] | m : b[i / 8] & ~m;
    }
}

/* Offset in the frame of @place; false if the frame has no such header. */
static bool place_off(const Mlx5FrameInfo *i, Mlx5FieldPlace place,
                      uint32_t *off)
{
    const struct { bool there; uint32_t off; } places[] = {
        [MLX5_PLACE_ETH] = { true, 0 },
        [MLX5_PLACE_TYPE] = { true, i->l3_off - 2 },
        [MLX5_PLACE_VLAN] = { i->cvlan || i->svlan, MAC_BYTES },
        [MLX5_PLACE_IPV4] = { i->ip_version == 4, i->l3_off },
        [MLX5_PLACE_IPV6] = { i->ip_version == 6, i->l3_off },
        [MLX5_PLACE_TCP] = { i->tcp, i->l4_off },
        [MLX5_PLACE_UDP] = { i->udp, i->l4_off },
    };

    *off = places[place].off;
    return places[place].there;
}

/* Value of field @id; 0 where the frame has none. */
static uint32_t field_get(const Mlx5Packet *p, uint32_t id)
{
    for (size_t k = 0; k < mlx5_num_modify_fields; k++) {
        const Mlx5ModifyField *f = &mlx5_modify_fields[k];
        uint32_t off;

        if (f->id == id && f->place == MLX5_PLACE_REG) {
            return p->reg[f->byte / 4];
        }
        if (f->id == id && place_off(&p->info, f->place, &off)) {
            return bits_get(p->data + off + f->byte, f->bit, f->bits);
        }
    }
    return 0;
}

/* A frame without the field stays as it is. */
static void field_put(Mlx5Packet *p, uint32_t id, uint32_t value)
{
    for (size_t k = 0; k < mlx5_num_modify_fields; k++) {
        const Mlx5ModifyField *f = &mlx5_modify_fields[k];
        uint32_t off;

        if (f->id == id && f->place == MLX5_PLACE_REG) {
            p->reg[f->byte / 4] = value;
        } else if (f->id == id && place_off(&p->info, f->place, &off)) {
            bits_set(p->own + off + f->byte, f->bit, f->bits, value);
        }
    }
}

static void change(Mlx5Packet *p, const Mlx5ModifyAction *a)
{
    uint32_t mask = a->length == 32 ? UINT32_MAX : (1u << a->length) - 1;
    uint32_t old = field_get(p, a->field), v = a->data;

    if (a->type == MLX5_MODIFY_ADD) {
        v = old + a->data;
    } else if (a->type == MLX5_MODIFY_COPY) {
        v = field_get(p, a->src_field) >> a->src_offset;
    }
    field_put(p, a->field, (old & ~(mask << a->offset)) |
                               (v & mask) << a->offset);
}

static bool has_l4_csum(const Mlx5Packet *p)
{
    return mlx5_frame_l4_ok(p->data, &p->info) &&
           !(p->info.udp && !mlx5_get_be16(p->data + p->info.l4_off + 6));
}

static bool modify(Mlx5Packet *p, const Mlx5ModifyHdr *mh)
{
    bool l3 = p->info.l3_ok, l4 = has_l4_csum(p);

    if (!make_room(p, 0, 0)) {
        return false;
    }
    for (uint32_t i = 0; i < mh->num; i++) {
        change(p, &mh->actions[i]);
    }
    parsed_again(p);
    if (l3) {
        mlx5_frame_set_l3_csum(p->own, &p->info);
    }
    if (l4) {
        mlx5_frame_set_l4_csum(p->own, &p->info);
    }
    parsed_again(p);
    return true;
}

static bool run_decap(Mlx5Packet *p, const Mlx5FlowAct *act)
{
    const Mlx5Reformat *r = act->reformat;

    if ((act->action & ACT(DECAP)) && !decap(p, true, NULL, 0)) {
        return false;
    }
    return !r || r->type != MLX5_REFORMAT_L3_TUNNEL_TO_L2 ||
           decap(p, false, r->data, r->len);
}

static bool run_vlan_push(Mlx5Packet *p, const Mlx5FlowAct *act)
{
    return (!(act->action & ACT(VLAN_PUSH)) || vlan_push(p, act->vlan[0])) &&
           (!(act->action & ACT(VLAN_PUSH_2)) || vlan_push(p, act->vlan[1]));
}

bool mlx5_eth_rewrite(Mlx5Packet *p, const Mlx5FlowAct *act)
{
    const Mlx5Reformat *r = act->reformat;
    bool ok = run_decap(p, act) &&
              (!(act->action & ACT(VLAN_POP)) || vlan_pop(p)) &&
              (!(act->action & ACT(VLAN_POP_2)) || vlan_pop(p)) &&
              (!act->modify || modify(p, act->modify)) &&
              run_vlan_push(p, act) &&
              (!r || r->type == MLX5_REFORMAT_L3_TUNNEL_TO_L2 || encap(p, r));

    if (ok) {
        mlx5_match_fill_outer(p);
    }
    return ok;
}
