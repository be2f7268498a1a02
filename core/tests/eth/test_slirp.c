/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Ethernet path with a real peer in the process: libslirp, QEMU's user
 * network. The guest is what this file posts and polls: ARP, DHCP, ICMP, and a
 * TCP stream each way to a socket of this machine, with checksums by the card,
 * segments cut by it, and what arrives found right by it.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <slirp/libslirp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/eth/eth_helper.h"

enum { OP_SEND = 0x0a, OP_LSO = 0x0e };
enum { CS_L3 = 0x40, CS_L4 = 0x80 };
enum { FIN = 0x01, SYN = 0x02, PSH = 0x08, ACK = 0x10 };
enum { ETH = 14, IP = 20, TCP = 20, UDP = 8 };
enum { BUFFERS = 1 << NET_LOG_RQ, WINDOW = 4 * 1460, MSS = 1460 };
/* Slirp acknowledges each segment at once: no more than there are buffers. */
enum { CHUNK = (BUFFERS - 1) * MSS, STREAM = 20 * CHUNK, PATIENCE_S = 60 };
#define ALL_OK 7                 /* cqe64.hds_ip_ext: L2, L3, L4 */
#define TX_AT 0x80000            /* in n.buf, behind the receive buffers */

static const uint8_t guest_mac[6] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 };
static const uint8_t slirp_mac[6] = { 0x52, 0x55, 10, 0, 2, 2 };
static const uint8_t everybody[6] = { 255, 255, 255, 255, 255, 255 };
static const uint8_t nobody_ip[4], all_ip[4] = { 255, 255, 255, 255 };
static const uint8_t guest_ip[4] = { 10, 0, 2, 15 };
static const uint8_t host_ip[4] = { 10, 0, 2, 2 };

static Net n;
static Slirp *slirp;

/* A frame that arrived, and what its completion says of it. */
typedef struct Got {
    uint8_t b[NET_BUF];
    size_t len;
    uint8_t ok;
} Got;

/* --- slirp's host -------------------------------------------------------- */

static ssize_t send_packet(const void *buf, size_t len, void *opaque)
{
    struct iovec iov = { (void *)buf, len };

    (void)opaque;
    mlx5_card_frame_rx(n.h->card, &iov, 1);
    return len;
}

static void guest_error(const char *msg, void *opaque)
{
    (void)opaque;
    ck_abort_msg("slirp: %s", msg);
}

static int64_t clock_ns(void *opaque)
{
    (void)opaque;
    return g_get_monotonic_time() * 1000;
}

static void *timer_new(SlirpTimerCb cb, void *cb_opaque, void *opaque)
{
    (void)cb;
    (void)cb_opaque;
    return opaque;
}

static void timer_free(void *timer, void *opaque)
{
    (void)timer;
    (void)opaque;
}

static void timer_mod(void *timer, int64_t ms, void *opaque)
{
    (void)timer;
    (void)ms;
    (void)opaque;
}

static void poll_fd(int fd, void *opaque)
{
    (void)fd;
    (void)opaque;
}

static void notify(void *opaque)
{
    (void)opaque;
}

static const SlirpCb callbacks = {
    .send_packet = send_packet, .guest_error = guest_error,
    .clock_get_ns = clock_ns, .timer_new = timer_new,
    .timer_free = timer_free, .timer_mod = timer_mod,
    .register_poll_fd = poll_fd, .unregister_poll_fd = poll_fd,
    .notify = notify,
};

static const struct { int slirp, poll; } events[] = {
    { SLIRP_POLL_IN, POLLIN }, { SLIRP_POLL_OUT, POLLOUT },
    { SLIRP_POLL_PRI, POLLPRI }, { SLIRP_POLL_ERR, POLLERR },
    { SLIRP_POLL_HUP, POLLHUP },
};

static int add_poll(int fd, int wanted, void *opaque)
{
    GArray *fds = opaque;
    struct pollfd p = { .fd = fd };

    for (size_t i = 0; i < G_N_ELEMENTS(events); i++) {
        p.events |= wanted & events[i].slirp ? events[i].poll : 0;
    }
    g_array_append_val(fds, p);
    return fds->len - 1;
}

static int get_revents(int i, void *opaque)
{
    int found = g_array_index((GArray *)opaque, struct pollfd, i).revents;
    int said = 0;

    for (size_t k = 0; k < G_N_ELEMENTS(events); k++) {
        said |= found & events[k].poll ? events[k].slirp : 0;
    }
    return said;
}

/* What the card sent goes to slirp, what slirp has comes to the card. */
static void pump(void)
{
    g_autoptr(GArray) fds = g_array_new(false, true, sizeof(struct pollfd));
    uint32_t timeout = 5;

    while (n.h->frames->len) {
        gsize len;
        g_autoptr(GBytes) frame = g_bytes_ref(n.h->frames->pdata[0]);
        const void *p = g_bytes_get_data(frame, &len);

        g_ptr_array_remove_index(n.h->frames, 0);
        slirp_input(slirp, p, len);
    }
    slirp_pollfds_fill(slirp, &timeout, add_poll, fds);
    poll((struct pollfd *)fds->data, fds->len, MIN(timeout, 5));
    slirp_pollfds_poll(slirp, 0, get_revents, fds);
    fake_host_work(n.h);
}

/* --- the guest ------------------------------------------------------------ */

static void post_buffer(uint32_t i)
{
    net_post_rx(&n, &n.rq, n.buf + i * NET_BUF, NET_BUF);
}

static void setup(void)
{
    SlirpConfig config = { .version = 1, .in_enabled = true };

    n = net_new();
    memcpy(mlx5_vport(n.func)->mac, guest_mac, 6);
    inet_pton(AF_INET, "10.0.2.0", &config.vnetwork);
    inet_pton(AF_INET, "255.255.255.0", &config.vnetmask);
    inet_pton(AF_INET, "10.0.2.2", &config.vhost);
    inet_pton(AF_INET, "10.0.2.15", &config.vdhcp_start);
    inet_pton(AF_INET, "10.0.2.3", &config.vnameserver);
    slirp = slirp_new(&config, &callbacks, &n);
    ck_assert_ptr_nonnull(slirp);
    net_steer_all(&n, net_create_tir_direct(&n, n.rq.number));
    for (uint32_t i = 0; i < BUFFERS; i++) {
        post_buffer(i);
    }
}

static void teardown(void)
{
    slirp_cleanup(slirp);
    net_free(&n);
}

/* Send @len bytes; with @mss, @hdr of them in front of each segment. */
static void send_frame(const uint8_t *b, size_t len, size_t hdr, uint32_t mss)
{
    uint32_t inl = hdr ? (hdr - 2 + 15) / 16 : 0, ds = 3 + inl;
    uint8_t wqe[256] = { 0 }, cqe[64];

    net_ctrl(&n.sq, wqe, mss ? OP_LSO : OP_SEND, ds, 2);
    MLX5_SET(wqe_eth, wqe + 16, cs_flags, CS_L3 | CS_L4);
    MLX5_SET(wqe_eth, wqe + 16, mss, mss);
    MLX5_SET(wqe_eth, wqe + 16, inline_hdr_size, hdr);
    memcpy(wqe + 30, b, hdr);
    fake_mem_write(n.h, n.buf + TX_AT, b + hdr, len - hdr);
    net_data_seg(&n, wqe + 32 + inl * 16, n.buf + TX_AT, len - hdr);
    net_post(&n, &n.sq, wqe, ds * 16);
    net_ring(&n, &n.sq);
    ck_assert(fake_driver_poll_cq(n.d, &n.sq.cq, cqe));
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_REQ);
}

static bool receive(Got *got)
{
    uint8_t cqe[64];
    uint32_t i;

    if (!fake_driver_poll_cq(n.d, &n.rq.cq, cqe)) {
        return false;
    }
    ck_assert_uint_eq(MLX5_GET(cqe64, cqe, opcode), MLX5_CQE_RESP_SEND);
    i = MLX5_GET(cqe64, cqe, wqe_counter) % BUFFERS;
    got->len = MLX5_GET(cqe64, cqe, byte_cnt);
    got->ok = MLX5_GET(cqe64, cqe, hds_ip_ext);
    fake_mem_read(n.h, n.buf + i * NET_BUF, got->b, got->len);
    post_buffer(i);
    return true;
}

static bool late(gint64 since)
{
    return g_get_monotonic_time() - since > PATIENCE_S * G_USEC_PER_SEC;
}

/* Wait for a frame of which @is says yes; others are dropped. */
static void await_frame(Got *got, bool (*is)(const Got *got))
{
    gint64 since = g_get_monotonic_time();

    for (;;) {
        while (receive(got)) {
            if (is(got)) {
                return;
            }
        }
        ck_assert_msg(!late(since), "no answer");
        pump();
    }
}

static size_t put_eth(uint8_t *b, const uint8_t *to, uint16_t type)
{
    memcpy(b, to, 6);
    memcpy(b + 6, guest_mac, 6);
    mlx5_put_be16(b + 12, type);
    return ETH;
}

static void put_ip(uint8_t *b, uint8_t protocol, const uint8_t *from,
                   const uint8_t *to, size_t payload)
{
    b[0] = 0x45;
    mlx5_put_be16(b + 2, IP + payload);
    b[8] = 64;
    b[9] = protocol;
    memcpy(b + 12, from, 4);
    memcpy(b + 16, to, 4);
}

static bool is_ip(const Got *got, uint8_t protocol)
{
    return mlx5_get_be16(got->b + 12) == MLX5_ETHERTYPE_IPV4 &&
           got->b[ETH + 9] == protocol;
}

/* --- ARP, ICMP, DHCP ------------------------------------------------------- */

static bool is_arp_reply(const Got *got)
{
    return mlx5_get_be16(got->b + 12) == 0x0806 &&
           mlx5_get_be16(got->b + ETH + 6) == 2;
}

static void arp(Got *got)
{
    uint8_t b[60] = { 0 };
    size_t at = put_eth(b, everybody, 0x0806);

    memcpy(b + at, (uint8_t[]){ 0, 1, 8, 0, 6, 4, 0, 1 }, 8);
    memcpy(b + at + 8, guest_mac, 6);
    memcpy(b + at + 14, guest_ip, 4);
    memcpy(b + at + 24, host_ip, 4);
    send_frame(b, 42, 0, 0);
    await_frame(got, is_arp_reply);
}

START_TEST(arp_answer)
{
    Got got;

    arp(&got);
    ck_assert_mem_eq(got.b, guest_mac, 6);
    ck_assert_mem_eq(got.b + ETH + 8, slirp_mac, 6);
    ck_assert_mem_eq(got.b + ETH + 14, host_ip, 4);
}
END_TEST

static bool is_icmp(const Got *got)
{
    return is_ip(got, 1);
}

START_TEST(ping)
{
    uint8_t b[ETH + IP + 8 + 1000] = { 0 }, *icmp = b + ETH + IP;
    Got got;

    arp(&got);
    put_eth(b, slirp_mac, MLX5_ETHERTYPE_IPV4);
    put_ip(b + ETH, 1, guest_ip, host_ip, 8 + 1000);
    icmp[0] = 8;
    for (int i = 0; i < 1000; i++) {
        icmp[8 + i] = i * 7;
    }
    mlx5_put_be16(icmp + 2, ~mlx5_csum(icmp, 8 + 1000));
    send_frame(b, sizeof(b), 0, 0);
    await_frame(&got, is_icmp);
    ck_assert_uint_eq(got.len, sizeof(b));
    ck_assert_uint_eq(got.b[ETH + IP], 0);
    ck_assert_mem_eq(got.b + ETH + IP + 8, icmp + 8, 1000);
    ck_assert_uint_eq(got.ok, 3); /* L2 and L3; ICMP is no L4 of the card's */
}
END_TEST

static bool is_dhcp(const Got *got)
{
    return is_ip(got, MLX5_IPPROTO_UDP) &&
           mlx5_get_be16(got->b + ETH + IP + 2) == 68;
}

/* Return: the message type of the answer (RFC 2132 9.6); @yiaddr: offered. */
static uint8_t dhcp(uint8_t type, uint8_t yiaddr[4])
{
    enum { BOOTP = 236, LEN = BOOTP + 4 + 16 };
    uint8_t b[ETH + IP + UDP + LEN] = { 0 }, *udp = b + ETH + IP;
    uint8_t *p = udp + UDP;
    static const uint8_t cookie[4] = { 99, 130, 83, 99 };
    Got got;

    put_eth(b, everybody, MLX5_ETHERTYPE_IPV4);
    put_ip(b + ETH, MLX5_IPPROTO_UDP, nobody_ip, all_ip, UDP + LEN);
    mlx5_put_be16(udp, 68);
    mlx5_put_be16(udp + 2, 67);
    mlx5_put_be16(udp + 4, UDP + LEN);
    memcpy(p, (uint8_t[]){ 1, 1, 6, 0, 'm', 'l', 'x', '5' }, 8);
    memcpy(p + 28, guest_mac, 6);
    memcpy(p + BOOTP, cookie, 4);
    memcpy(p + BOOTP + 4, (uint8_t[]){ 53, 1, type, 50, 4, 10, 0, 2, 15, 255 },
           10);
    send_frame(b, sizeof(b), 0, 0);
    await_frame(&got, is_dhcp);
    ck_assert_uint_eq(got.ok, ALL_OK);
    p = got.b + ETH + IP + UDP;
    ck_assert_mem_eq(p + 4, "mlx5", 4);
    memcpy(yiaddr, p + 16, 4);
    ck_assert_mem_eq(p + BOOTP, cookie, 4);
    ck_assert_uint_eq(p[BOOTP + 4], 53);
    return p[BOOTP + 6];
}

START_TEST(lease)
{
    uint8_t yiaddr[4];

    ck_assert_uint_eq(dhcp(1, yiaddr), 2);
    ck_assert_mem_eq(yiaddr, guest_ip, 4);
    ck_assert_uint_eq(dhcp(3, yiaddr), 5);
    ck_assert_mem_eq(yiaddr, guest_ip, 4);
}
END_TEST

/* --- TCP ------------------------------------------------------------------- */

/* The guest's end of a connection, and the socket at the other. */
typedef struct Stream {
    uint16_t port;
    uint32_t seq, acked, ack;    /* to send, heard of, received */
    bool open;
    int listener, peer;
    GByteArray *got;
} Stream;

static Stream s;

static size_t put_tcp(uint8_t *b, uint8_t flags, size_t payload)
{
    uint8_t *tcp = b + ETH + IP;

    memset(b, 0, ETH + IP + TCP);
    put_eth(b, slirp_mac, MLX5_ETHERTYPE_IPV4);
    put_ip(b + ETH, MLX5_IPPROTO_TCP, guest_ip, host_ip, TCP + payload);
    mlx5_put_be16(tcp, 40000);
    mlx5_put_be16(tcp + 2, s.port);
    mlx5_put_be32(tcp + 4, s.seq);
    mlx5_put_be32(tcp + 8, s.ack);
    tcp[12] = TCP / 4 << 4;
    tcp[13] = flags;
    mlx5_put_be16(tcp + 14, WINDOW);
    return ETH + IP + TCP;
}

static void send_flags(uint8_t flags)
{
    uint8_t b[64];

    send_frame(b, put_tcp(b, flags, 0), 0, 0);
}

/* A segment: the card has found it right, and it is the one expected. */
static void take_segment(const Got *got)
{
    const uint8_t *tcp = got->b + ETH + IP;
    size_t total = mlx5_get_be16(got->b + ETH + 2);
    size_t hdr = (tcp[12] >> 4) * 4u, len = total - IP - hdr;
    uint32_t seq = mlx5_get_be32(tcp + 4);

    ck_assert_uint_eq(got->ok, ALL_OK);
    ck_assert(!(tcp[13] & 0x04));
    s.acked = mlx5_get_be32(tcp + 8);
    if (tcp[13] & SYN) {
        s.ack = seq + 1;
        s.open = true;
    } else if (len && seq == s.ack) {
        g_byte_array_append(s.got, tcp + hdr, len);
        s.ack += len;
    }
    if (len || (tcp[13] & SYN)) {
        send_flags(ACK);
    }
}

/* A round: frames in both directions, and the peer's connection accepted. */
static void turn(gint64 since)
{
    Got got;

    ck_assert_msg(!late(since), "the stream stands still: sent 0x%x, heard 0x%x", s.seq, s.acked);
    pump();
    while (receive(&got)) {
        if (is_ip(&got, MLX5_IPPROTO_TCP)) {
            take_segment(&got);
        }
    }
    if (s.peer < 0) {
        s.peer = accept4(s.listener, NULL, NULL, SOCK_NONBLOCK);
    }
}

static void connect_stream(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);
    gint64 since = g_get_monotonic_time();
    Got got;

    arp(&got);
    s = (Stream){ .peer = -1, .seq = 0xfffff000u,
                  .got = g_byte_array_new() };
    s.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(s.listener, (struct sockaddr *)&at, len), 0);
    ck_assert_int_eq(listen(s.listener, 1), 0);
    getsockname(s.listener, (struct sockaddr *)&at, &len);
    s.port = ntohs(at.sin_port);
    send_flags(SYN);
    s.seq++;
    while (!s.open || s.peer < 0) {
        turn(since);
    }
}

static void close_stream(void)
{
    close(s.peer);
    close(s.listener);
    g_byte_array_unref(s.got);
}

static uint8_t byte_at(size_t i)
{
    return i * 31 + i / 251;
}

/* What the peer's socket has so far. Return: bytes of the stream. */
static size_t read_peer(size_t done)
{
    uint8_t b[65536];
    ssize_t got = recv(s.peer, b, sizeof(b), 0);

    for (ssize_t i = 0; i < got; i++) {
        ck_assert_uint_eq(b[i], byte_at(done + i));
    }
    return done + MAX(got, 0);
}

/* In packets of CHUNK, cut by the card; the checksums are its own. */
START_TEST(tcp_to_host)
{
    static uint8_t b[ETH + IP + TCP + CHUNK];
    gint64 since = g_get_monotonic_time();
    size_t done = 0;

    connect_stream();
    for (size_t sent = 0; sent < STREAM; sent += CHUNK) {
        size_t hdr = put_tcp(b, ACK | PSH, CHUNK);
        guint before = n.h->frames->len;

        for (size_t i = 0; i < CHUNK; i++) {
            b[hdr + i] = byte_at(sent + i);
        }
        send_frame(b, hdr + CHUNK, hdr, MSS);
        ck_assert_uint_eq(n.h->frames->len - before,
                          (CHUNK + MSS - 1) / MSS);
        s.seq += CHUNK;
        while (s.acked != s.seq || done < sent + CHUNK) {
            turn(since);
            done = read_peer(done);
        }
    }
    ck_assert_uint_eq(done, STREAM);
    send_flags(FIN | ACK);
    while (s.acked != s.seq + 1) {
        turn(since);
    }
    close_stream();
}
END_TEST

START_TEST(tcp_from_host)
{
    gint64 since = g_get_monotonic_time();
    g_autofree uint8_t *all = g_malloc(STREAM);
    size_t sent = 0;

    for (size_t i = 0; i < STREAM; i++) {
        all[i] = byte_at(i);
    }
    connect_stream();
    while (s.got->len < STREAM) {
        ssize_t now = sent < STREAM ? send(s.peer, all + sent, STREAM - sent,
                                           MSG_NOSIGNAL) : 0;

        sent += MAX(now, 0);
        turn(since);
    }
    ck_assert_uint_eq(s.got->len, STREAM);
    ck_assert_mem_eq(s.got->data, all, STREAM);
    close_stream();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("eth slirp");
    TCase *t = tcase_create("slirp");
    SRunner *r;
    int failed;

    tcase_set_timeout(t, 2 * PATIENCE_S);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, arp_answer);
    tcase_add_test(t, ping);
    tcase_add_test(t, lease);
    tcase_add_test(t, tcp_to_host);
    tcase_add_test(t, tcp_from_host);
    suite_add_tcase(suite, t);
    r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
