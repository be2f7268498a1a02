/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hash over addresses and ports (PRM: TIR Context, RX hash; the Toeplitz
 * function and its test vectors are Microsoft's, "RSS hashing functions").
 */
#include "eth/rss.h"

#define HASH_INPUT_BYTES (2 * 16 + 2 * 2)

/* cqe64.rx_hash_type (driver: device.h CQE_RSS_HTYPE_*). */
enum {
    TYPE_SRC_IP = 1 << 0, TYPE_DST_IP = 1 << 1,
    TYPE_IPV4 = 1 << 2, TYPE_IPV6 = 2 << 2,
    TYPE_SPORT = 1 << 4, TYPE_DPORT = 1 << 5,
    TYPE_TCP = 1 << 6, TYPE_UDP = 2 << 6, TYPE_IPSEC = 3 << 6,
};

typedef struct Input {
    uint8_t data[HASH_INPUT_BYTES];
    size_t len;
    uint8_t type;
} Input;

uint32_t mlx5_rss_toeplitz(const uint8_t key[MLX5_TOEPLITZ_KEY_BYTES],
                           const uint8_t *data, size_t len)
{
    uint8_t padded[MLX5_TOEPLITZ_KEY_BYTES + sizeof(uint64_t)] = { 0 };
    uint32_t hash = 0;

    memcpy(padded, key, MLX5_TOEPLITZ_KEY_BYTES);
    for (size_t i = 0; i < len; i++) {
        uint64_t bits;

        memcpy(&bits, padded + i, sizeof(bits));
        bits = GUINT64_FROM_BE(bits);
        /* Each bit that is set adds the 32 bits of the key from its place on;
         * the first one is the most significant. */
        for (uint32_t left = data[i]; left; left &= left - 1) {
            hash ^= bits >> (25 + __builtin_ctz(left));
        }
    }
    return hash;
}

/* All bytes folded to one, its bits turned round (driver: en/rqt.c). */
static uint32_t inverted_xor8(const uint8_t *data, size_t len)
{
    uint8_t x = 0, inv = 0;

    for (size_t i = 0; i < len; i++) {
        x ^= data[i];
    }
    for (int bit = 0; bit < 8; bit++) {
        inv |= (x >> bit & 1) << (7 - bit);
    }
    return inv;
}

static void add(Input *in, const uint8_t *p, size_t len, uint8_t type)
{
    memcpy(in->data + in->len, p, len);
    in->len += len;
    in->type |= type;
}

/*
 * Both directions of a flow give one hash: a pair of fields counts as their
 * OR and their XOR (uapi ethtool.h RXH_XFRM_SYM_OR_XOR, which is what drivers
 * call this hardware's symmetric mode).
 */
static void fold_pair(uint8_t *a, uint8_t *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint8_t o = a[i] | b[i], x = a[i] ^ b[i];

        a[i] = o;
        b[i] = x;
    }
}

static void add_pair(Input *in, const Mlx5RxHash *hash, uint32_t fields,
                     const uint8_t *src, const uint8_t *dst, size_t len,
                     uint8_t src_type, uint8_t dst_type)
{
    size_t at = in->len;

    if (fields & 1) {
        add(in, src, len, src_type);
    }
    if (fields & 2) {
        add(in, dst, len, dst_type);
    }
    if (hash->symmetric && (fields & 3) == 3) {
        fold_pair(in->data + at, in->data + at + len, len);
    }
}

static void add_addresses(Input *in, const Mlx5RxHash *hash,
                          const Mlx5HashSelect *sel, const uint8_t *frame,
                          const Mlx5FrameInfo *info)
{
    const uint8_t *ip = frame + info->l3_off;
    bool v4 = info->ip_version == 4;
    size_t len = v4 ? 4 : 16;
    const uint8_t *src = ip + (v4 ? 12 : 8);

    add_pair(in, hash, sel->fields, src, src + len, len, TYPE_SRC_IP,
             TYPE_DST_IP);
    if (in->type) {
        in->type |= v4 ? TYPE_IPV4 : TYPE_IPV6;
    }
}

static void add_l4(Input *in, const Mlx5RxHash *hash,
                   const Mlx5HashSelect *sel, const uint8_t *frame,
                   const Mlx5FrameInfo *info)
{
    const uint8_t *l4 = frame + info->l4_off;
    uint32_t ports = sel->fields >> 2 & 3;

    if (ports && (sel->udp ? info->udp : info->tcp)) {
        add_pair(in, hash, ports, l4, l4 + 2, 2, TYPE_SPORT, TYPE_DPORT);
        in->type |= sel->udp ? TYPE_UDP : TYPE_TCP;
    }
    if ((sel->fields & MLX5_HASH_FIELD_SEL_IPSEC_SPI) && !info->frag &&
        info->l3_len - info->l3_hlen >= 8 &&
        (info->ip_protocol == MLX5_IPPROTO_ESP ||
         info->ip_protocol == MLX5_IPPROTO_AH)) {
        /* ESP begins with the SPI; AH has it after four bytes. */
        add(in, l4 + (info->ip_protocol == MLX5_IPPROTO_AH ? 4 : 0), 4,
            TYPE_IPSEC);
    }
}

static uint32_t hash_of(const Mlx5RxHash *hash, const Mlx5HashSelect *sel,
                        const uint8_t *frame, const Mlx5FrameInfo *info,
                        uint8_t *type)
{
    Input in = { .len = 0 };

    *type = 0;
    if (hash->fn == MLX5_RX_HASH_FN_NONE ||
        info->ip_version != (sel->ipv6 ? 6 : 4)) {
        return 0;
    }
    add_addresses(&in, hash, sel, frame, info);
    add_l4(&in, hash, sel, frame, info);
    *type = in.type;
    return hash->fn == MLX5_RX_HASH_FN_TOEPLITZ
               ? mlx5_rss_toeplitz(hash->key, in.data, in.len)
               : inverted_xor8(in.data, in.len);
}

uint32_t mlx5_rss_hash(const Mlx5RxHash *hash, const uint8_t *frame,
                       const Mlx5FrameInfo *info, const Mlx5Tunnel *tunnel,
                       uint8_t *type)
{
    if (hash->inner.fields && tunnel && tunnel->has_inner) {
        return hash_of(hash, &hash->inner, frame + tunnel->inner_off,
                       &tunnel->inner, type);
    }
    return hash_of(hash, &hash->outer, frame, info, type);
}
