/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow rules by verbs: two raw packet queue pairs of two contexts, frames from
 * one to the other, and for each rule what arrives and what its counters say.
 * Prints "ok NAME" or "not ok NAME"; exit status 1 if one is not.
 */
#include <infiniband/verbs.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAME 128
#define SLOTS 32
#define WAIT_S 15

typedef struct Side {
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *buf;
} Side;

/* A rule: L2, IPv4 and UDP, or a VXLAN tunnel, and what to do. */
typedef struct Rule {
    struct ibv_flow_attr attr;
    uint8_t specs[512];
} Rule;

static const uint8_t dmac[6] = { 0x01, 0x50, 0x56, 0x19, 0x20, 0xa7 };
static int bad;

static void report(int ok, const char *name)
{
    printf("%sok %s\n", ok ? "" : "not ", name);
    bad |= !ok;
}

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static struct ibv_context *open_device(const char *name)
{
    struct ibv_device **list = ibv_get_device_list(NULL);

    for (int i = 0; list && list[i]; i++) {
        if (!strcmp(ibv_get_device_name(list[i]), name)) {
            return ibv_open_device(list[i]);
        }
    }
    return NULL;
}

static void go(struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
    struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

    if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask)) {
        die("modify_qp");
    }
}

static Side side_open(const char *name)
{
    Side s = { .ctx = open_device(name), .buf = calloc(SLOTS, FRAME) };
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RAW_PACKET, .sq_sig_all = 1,
        .cap = { SLOTS, SLOTS, 1, 1, 0 },
    };

    if (!s.ctx || !(s.pd = ibv_alloc_pd(s.ctx)) ||
        !(s.cq = ibv_create_cq(s.ctx, 4 * SLOTS, NULL, NULL, 0))) {
        die("open");
    }
    s.mr = ibv_reg_mr(s.pd, s.buf, SLOTS * FRAME, IBV_ACCESS_LOCAL_WRITE);
    init.send_cq = init.recv_cq = s.cq;
    s.qp = ibv_create_qp(s.pd, &init);
    if (!s.mr || !s.qp) {
        die("queue pair");
    }
    go(s.qp, IBV_QPS_INIT, IBV_QP_PORT);
    go(s.qp, IBV_QPS_RTR, 0);
    go(s.qp, IBV_QPS_RTS, 0);
    return s;
}

static void put16(uint8_t *p, uint16_t v)
{
    p[0] = v >> 8;
    p[1] = v;
}

/* Ethernet, IPv4, UDP to @port. Return: where its payload begins. */
static uint8_t *headers(uint8_t *f, size_t len, uint16_t port)
{
    memcpy(f, dmac, 6);
    memcpy(f + 6, "\x02\0\0\0\0\1", 6);
    put16(f + 12, 0x0800);
    memset(f + 14, 0, 28);
    f[14] = 0x45;
    put16(f + 16, len - 14);
    f[22] = 64;
    f[23] = 17;
    memcpy(f + 26, "\1\1\1\1\2\2\2\2", 8);
    put16(f + 34, 1234);
    put16(f + 36, port);
    put16(f + 38, len - 34);
    return f + 42;
}

/* Completions of @s within the time; stops after @want. */
static int completed(Side *s, int want, unsigned seconds)
{
    time_t end = time(NULL) + seconds;
    struct ibv_wc wc;
    int got = 0;

    while (got < want && time(NULL) <= end) {
        int n = ibv_poll_cq(s->cq, 1, &wc);

        if (n < 0 || (n && wc.status != IBV_WC_SUCCESS)) {
            return -1;
        }
        got += n;
    }
    return got;
}

static void post_receives(Side *s, int num)
{
    for (int i = 0; i < num; i++) {
        struct ibv_sge sge = { (uintptr_t)s->buf + i * FRAME, FRAME,
                               s->mr->lkey };
        struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *failed;

        if (ibv_post_recv(s->qp, &wr, &failed)) {
            die("post_recv");
        }
    }
}

static int send_frames(Side *s, int num)
{
    for (int i = 0; i < num; i++) {
        struct ibv_sge sge = { (uintptr_t)s->buf, FRAME, s->mr->lkey };
        struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
                                  .opcode = IBV_WR_SEND }, *failed;

        if (ibv_post_send(s->qp, &wr, &failed)) {
            die("post_send");
        }
    }
    return completed(s, num, WAIT_S) == num;
}

static void add_spec(Rule *r, const void *spec, size_t size)
{
    memcpy(r->specs + r->attr.size - sizeof(r->attr), spec, size);
    r->attr.size += size;
    r->attr.num_of_specs++;
}

static Rule rule(int priority)
{
    Rule r = { .attr = { .type = IBV_FLOW_ATTR_NORMAL, .port = 1,
                         .size = sizeof(r.attr), .priority = priority } };
    struct ibv_flow_spec_eth eth = { .type = IBV_FLOW_SPEC_ETH,
                                     .size = sizeof(eth) };

    memcpy(eth.val.dst_mac, dmac, 6);
    memset(eth.mask.dst_mac, 0xff, 6);
    add_spec(&r, &eth, sizeof(eth));
    return r;
}

static void add_udp(Rule *r, uint16_t port, int inner)
{
    struct ibv_flow_spec_ipv4 ip = { .type = IBV_FLOW_SPEC_IPV4 | inner,
                                     .size = sizeof(ip) };
    struct ibv_flow_spec_tcp_udp udp = { .type = IBV_FLOW_SPEC_UDP | inner,
                                         .size = sizeof(udp) };

    ip.val.dst_ip = inet_addr("2.2.2.2");
    ip.mask.dst_ip = 0xffffffff;
    udp.val.dst_port = htons(port);
    udp.mask.dst_port = 0xffff;
    add_spec(r, &ip, sizeof(ip));
    add_spec(r, &udp, sizeof(udp));
}

static void add_vxlan(Rule *r, uint32_t vni)
{
    struct ibv_flow_spec_tunnel t = { .type = IBV_FLOW_SPEC_VXLAN_TUNNEL,
                                      .size = sizeof(t) };

    t.val.tunnel_id = htonl(vni);
    t.mask.tunnel_id = htonl(0xffffff);
    add_spec(r, &t, sizeof(t));
}

static struct ibv_counters *add_counters(Side *s, Rule *r)
{
    struct ibv_counters_init_attr init = { 0 };
    struct ibv_counters *c = ibv_create_counters(s->ctx, &init);
    struct ibv_counter_attach_attr packets = {
        .counter_desc = IBV_COUNTER_PACKETS, .index = 0,
    }, bytes = { .counter_desc = IBV_COUNTER_BYTES, .index = 1 };
    struct ibv_flow_spec_counter_action spec = {
        .type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(spec),
        .counters = c,
    };

    if (!c || ibv_attach_counters_point_flow(c, &packets, NULL) ||
        ibv_attach_counters_point_flow(c, &bytes, NULL)) {
        die("counters");
    }
    add_spec(r, &spec, sizeof(spec));
    return c;
}

/*
 * Install @r, send @num frames, and see whether they arrive and are counted.
 */
static void try_rule(Side *from, Side *to, Rule *r, int num, int arrive,
                     const char *name)
{
    struct ibv_counters *c = add_counters(to, r);
    struct ibv_flow *flow = ibv_create_flow(to->qp, &r->attr);
    uint64_t v[2] = { 0 };
    int got;

    if (!flow) {
        perror(name);
        report(0, name);
        ibv_destroy_counters(c);
        return;
    }
    if (!send_frames(from, num)) {
        die("send");
    }
    got = completed(to, arrive ? num : 1, arrive ? WAIT_S : 1);
    if (ibv_read_counters(c, v, 2, 0)) {
        die("read_counters");
    }
    if (got != (arrive ? num : 0) || v[0] != (uint64_t)num ||
        v[1] != (uint64_t)num * FRAME) {
        printf("# %s: %d frames, counted %llu of %llu bytes\n", name, got,
               (unsigned long long)v[0], (unsigned long long)v[1]);
        report(0, name);
    } else {
        report(1, name);
    }
    ibv_destroy_flow(flow);
    ibv_destroy_counters(c);
}

static void add_drop(Rule *r)
{
    struct ibv_flow_spec_action_drop drop = {
        .type = IBV_FLOW_SPEC_ACTION_DROP, .size = sizeof(drop),
    };

    add_spec(r, &drop, sizeof(drop));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "mlx5_0";
    Side from = side_open(name), to = side_open(name);
    uint8_t *payload = headers(from.buf, FRAME, 5678);
    Rule r = rule(0);

    post_receives(&to, SLOTS);
    try_rule(&from, &to, &r, 5, 1, "a rule on the destination address");
    r = rule(0);
    add_udp(&r, 5678, 0);
    try_rule(&from, &to, &r, 5, 1, "a rule on UDP over IPv4");
    report(!memcmp(to.buf, from.buf, FRAME), "the frame is what was sent");
    r = rule(0);
    add_udp(&r, 5678, 0);
    add_drop(&r);
    try_rule(&from, &to, &r, 4, 0, "a rule that drops");

    payload = headers(from.buf, FRAME, 4789);
    memcpy(payload, "\x08\0\0\0\0\x12\x34\0", 8);
    headers(payload + 8, FRAME - (payload + 8 - from.buf), 99);
    r = rule(0);
    add_vxlan(&r, 0x1234);
    add_udp(&r, 99, IBV_FLOW_SPEC_INNER);
    try_rule(&from, &to, &r, 3, 1, "a rule on what a VXLAN tunnel carries");
    return bad;
}
