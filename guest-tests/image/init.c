/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's first process and the host's agent in it; one static program.
 *
 * Stage 1, as /init of a small initramfs: load the modules named in /modules,
 * mount the read-only root from the first virtio disk with a tmpfs over it,
 * move there and start stage 2. No shell takes part: each process that an
 * emulated CPU need not start is a tenth of a second less to wait.
 *
 * Stage 2, in the root file system: mount what a booted system has, open the
 * virtio serial port and serve the launcher. Both sides speak in frames:
 *
 *     type:8 channel:8 zero:16 length:32 (big-endian), then length bytes
 *
 *   launcher to guest                        guest to launcher
 *   T  seconds:64 nanoseconds:32, entropy    R  ready for commands
 *   W  path NUL data: write a file           D  done: a W or T was carried out
 *   X  flags:8 rows:16 columns:16 nenv:8,    1  standard output
 *      then env and argv, each NUL-ended     2  standard error
 *   I  bytes of standard input               C  bytes:32 of input consumed
 *   E  end of standard input                 X  status:32, the command ended
 *   S  signal:8                              ?  the request was malformed
 *   Z  rows:16 columns:16
 *
 * A channel carries one command; several run at once. X follows the last
 * output of the command itself, not of children that it left behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <net/if.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STAGE2 "/usr/lib/mlx5sim/init"
#define HEADER_BYTES 8
#define FRAME_MAX_BYTES (256 * 1024)
#define CHANNELS 16
#define FLAG_TTY 1

/** A command that runs for the launcher. */
typedef struct Child {
    pid_t pid;      /* 0: the channel is free */
    int in;         /* its standard input, -1 when closed */
    int out[2];     /* its standard output and error, -1 when at their end */
    uint8_t *queue; /* input that it did not take yet */
    size_t queued;
    int eof;        /* close @in once @queue is empty */
} Child;

static Child children[CHANNELS];
static int port = -1;

static void die(const char *what)
{
    dprintf(2, "mlx5sim-init: %s: %s\n", what, strerror(errno));
    sync();
    _exit(1); /* the kernel panics and, as told by panic=-1, resets */
}

static uint16_t get16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static void put32(uint8_t *p, uint32_t v)
{
    p[0] = v >> 24;
    p[1] = v >> 16;
    p[2] = v >> 8;
    p[3] = v;
}

static void write_all(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            die("write to the launcher");
        }
        if (n > 0) {
            p += n;
            len -= n;
        }
    }
}

static void send_frame(int type, int chan, const void *data, uint32_t len)
{
    static uint8_t buf[HEADER_BYTES + 65536];

    buf[0] = type;
    buf[1] = chan;
    buf[2] = buf[3] = 0;
    put32(buf + 4, len);
    if (len) {
        memcpy(buf + HEADER_BYTES, data, len);
    }
    write_all(port, buf, HEADER_BYTES + len);
}

static void send_u32(int type, int chan, uint32_t v)
{
    uint8_t data[4];

    put32(data, v);
    send_frame(type, chan, data, sizeof(data));
}

/* Stage 1 */

static void load_module(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)) {
        die(path);
    }
    close(fd);
}

static void load_modules(const char *list)
{
    char path[256];
    FILE *f = fopen(list, "r");

    if (!f) {
        die(list);
    }
    while (fgets(path, sizeof(path), f)) {
        path[strcspn(path, "\n")] = '\0';
        load_module(path);
    }
    fclose(f);
}

static void mount_at(const char *src, const char *dir, const char *type,
                     unsigned long flags, const char *data)
{
    mkdir(dir, 0755);
    if (mount(src, dir, type, flags, data)) {
        die(dir);
    }
}

static void wait_for(const char *path)
{
    struct timespec pause = { 0, 5 * 1000 * 1000 };

    for (int i = 0; i < 2000 && access(path, F_OK); i++) {
        nanosleep(&pause, NULL);
    }
}

static void stage1(void)
{
    mount_at("dev", "/dev", "devtmpfs", 0, NULL);
    load_modules("/modules");
    wait_for("/dev/vda");
    mount_at("/dev/vda", "/lower", "erofs", MS_RDONLY, NULL);
    mount_at("rw", "/rw", "tmpfs", 0, "size=75%");
    mkdir("/rw/upper", 0755);
    mkdir("/rw/work", 0755);
    mount_at("root", "/new", "overlay", 0,
             "lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work");
    if (mount("/dev", "/new/dev", NULL, MS_MOVE, NULL) || chdir("/new") ||
        mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/")) {
        die("switch root");
    }
    execl(STAGE2, STAGE2, NULL);
    die(STAGE2);
}

/* Stage 2 */

static void mount_system(void)
{
    mount_at("proc", "/proc", "proc", 0, NULL);
    mount_at("sys", "/sys", "sysfs", 0, NULL);
    mount_at("run", "/run", "tmpfs", 0, "mode=755");
    mount_at("pts", "/dev/pts", "devpts", 0, "mode=620,ptmxmode=666");
    mount_at("shm", "/dev/shm", "tmpfs", 0, NULL);
    mount_at("tmp", "/tmp", "tmpfs", 0, "mode=1777");
    mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
    symlink("/proc/self/fd", "/dev/fd");
    symlink("/proc/self/fd/0", "/dev/stdin");
    symlink("/proc/self/fd/1", "/dev/stdout");
    symlink("/proc/self/fd/2", "/dev/stderr");
    sethostname("mlx5sim", 7);
}

static void loopback_up(void)
{
    struct ifreq req = { .ifr_name = "lo" };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    req.ifr_flags = IFF_UP | IFF_RUNNING;
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &req)) {
        die("lo");
    }
    close(fd);
}

static void set_environment(void)
{
    clearenv();
    setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
           ":/sbin:/bin", 1);
    setenv("HOME", "/root", 1);
    setenv("USER", "root", 1);
    setenv("SHELL", "/bin/bash", 1);
    setenv("LANG", "C.UTF-8", 1);
    chdir("/root");
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* Set the clock, and make random numbers differ from other restored guests. */
static void set_time(const uint8_t *p, size_t len)
{
    struct timespec now;
    struct {
        struct rand_pool_info info;
        uint8_t bytes[64];
    } pool = { 0 };
    int fd;

    if (len < 12) {
        return;
    }
    now.tv_sec = (int64_t)((uint64_t)get32(p) << 32 | get32(p + 4));
    now.tv_nsec = get32(p + 8);
    clock_settime(CLOCK_REALTIME, &now);
    len -= 12;
    if (len > sizeof(pool.bytes)) {
        len = sizeof(pool.bytes);
    }
    memcpy(pool.bytes, p + 12, len);
    pool.info.entropy_count = len * 8;
    pool.info.buf_size = len;
    fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ioctl(fd, RNDADDENTROPY, &pool);
        ioctl(fd, RNDRESEEDCRNG);
        close(fd);
    }
}

static int write_file(const char *p, size_t len)
{
    const char *end = memchr(p, '\0', len);
    int fd, ret = 0;

    if (!end) {
        return EINVAL;
    }
    fd = open(p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    if (fd < 0) {
        return errno;
    }
    len -= end + 1 - p;
    if (write(fd, end + 1, len) != (ssize_t)len) {
        ret = errno;
    }
    close(fd);
    return ret;
}

/* Cut NUL-ended strings apart. Return: their number, or -1 when malformed. */
static int split(char *p, size_t len, char **words, int max)
{
    int n = 0;

    if (len == 0 || p[len - 1] != '\0') {
        return -1;
    }
    for (char *end = p + len; p < end; p += strlen(p) + 1) {
        if (n == max - 1) {
            return -1;
        }
        words[n++] = p;
    }
    words[n] = NULL;
    return n;
}

static void exec_child(char **words, int nenv)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    for (int i = 0; i < nenv; i++) {
        putenv(words[i]);
    }
    execvp(words[nenv], words + nenv);
    dprintf(2, "%s: %s\n", words[nenv], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static void start_piped(Child *c, char **words, int nenv)
{
    int in[2], out[2], err[2];

    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ||
        pipe2(err, O_CLOEXEC)) {
        die("pipe");
    }
    c->pid = fork();
    if (c->pid == 0) {
        setsid();
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        exec_child(words, nenv);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    c->in = in[1];
    c->out[0] = out[0];
    c->out[1] = err[0];
}

static void start_on_tty(Child *c, char **words, int nenv,
                         const struct winsize *size)
{
    int fd;

    c->pid = forkpty(&fd, NULL, NULL, size);
    if (c->pid == 0) {
        exec_child(words, nenv);
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    c->out[0] = fd;
    c->out[1] = -1;
    c->in = dup(fd);
    fcntl(c->in, F_SETFD, FD_CLOEXEC);
}

static void start(Child *c, int chan, uint8_t *p, size_t len)
{
    static char *words[4096];
    struct winsize size = { 0 };
    int n;

    if (len < 6 || c->pid) {
        send_frame('?', chan, NULL, 0);
        return;
    }
    size.ws_row = get16(p + 1);
    size.ws_col = get16(p + 3);
    n = split((char *)p + 6, len - 6, words, 4096);
    if (n <= p[5]) {
        send_frame('?', chan, NULL, 0);
        return;
    }
    c->eof = 0;
    c->queued = 0;
    if (p[0] & FLAG_TTY) {
        start_on_tty(c, words, p[5], &size);
    } else {
        start_piped(c, words, p[5]);
    }
    if (c->pid < 0) {
        die("fork");
    }
    fcntl(c->in, F_SETFL, O_NONBLOCK);
    fcntl(c->out[0], F_SETFL, O_NONBLOCK);
    if (c->out[1] >= 0) {
        fcntl(c->out[1], F_SETFL, O_NONBLOCK);
    }
}

/* Hand queued input to the command, as much as it takes now. */
static void feed(Child *c, int chan)
{
    if (c->queued && c->in >= 0) {
        ssize_t n = write(c->in, c->queue, c->queued);

        if (n < 0 && errno == EAGAIN) {
            return;
        }
        if (n < 0) {
            n = c->queued; /* nobody reads it: swallow, as a shell would */
        }
        c->queued -= n;
        memmove(c->queue, c->queue + n, c->queued);
        send_u32('C', chan, n);
    }
    if (c->eof && !c->queued) {
        close_fd(&c->in);
    }
}

static void queue_input(Child *c, int chan, const uint8_t *p, size_t len)
{
    if (!c->pid || c->in < 0) {
        send_u32('C', chan, len);
        return;
    }
    c->queue = realloc(c->queue, c->queued + len + 1);
    if (!c->queue) {
        die("input");
    }
    memcpy(c->queue + c->queued, p, len);
    c->queued += len;
    feed(c, chan);
}

static void resize(Child *c, const uint8_t *p, size_t len)
{
    struct winsize size = { 0 };

    if (len == 4 && c->pid && c->in >= 0) {
        size.ws_row = get16(p);
        size.ws_col = get16(p + 2);
        ioctl(c->in, TIOCSWINSZ, &size);
    }
}

static void handle(int type, int chan, uint8_t *p, size_t len)
{
    Child *c = &children[chan % CHANNELS];

    switch (type) {
    case 'T':
        set_time(p, len);
        send_u32('D', chan, 0);
        break;
    case 'W':
        send_u32('D', chan, write_file((char *)p, len));
        break;
    case 'X':
        start(c, chan, p, len);
        break;
    case 'I':
        queue_input(c, chan, p, len);
        break;
    case 'E':
        c->eof = 1;
        feed(c, chan);
        break;
    case 'S':
        if (len == 1 && c->pid) {
            kill(-c->pid, p[0]);
        }
        break;
    case 'Z':
        resize(c, p, len);
        break;
    default:
        send_frame('?', chan, NULL, 0);
    }
}

/* Read what the launcher sent and carry out each whole frame of it. */
static void serve_port(void)
{
    static uint8_t buf[HEADER_BYTES + FRAME_MAX_BYTES];
    static size_t have;
    ssize_t n = read(port, buf + have, sizeof(buf) - have);

    if (n <= 0) {
        return;
    }
    have += n;
    while (have >= HEADER_BYTES) {
        size_t len = get32(buf + 4);

        if (len > FRAME_MAX_BYTES) {
            die("frame too long");
        }
        if (have < HEADER_BYTES + len) {
            break;
        }
        handle(buf[0], buf[1], buf + HEADER_BYTES, len);
        have -= HEADER_BYTES + len;
        memmove(buf, buf + HEADER_BYTES + len, have);
    }
}

/* Return: 0 when nothing is to be had now or ever, else 1. */
static int pass_output(Child *c, int chan, int which)
{
    static uint8_t buf[32768];
    ssize_t n;

    if (c->out[which] < 0) {
        return 0;
    }
    n = read(c->out[which], buf, sizeof(buf));
    if (n > 0) {
        send_frame('1' + which, chan, buf, n);
        return 1;
    }
    if (n == 0 || errno != EAGAIN) {
        close_fd(&c->out[which]);
    }
    return 0;
}

static void finish(Child *c, int chan, int status)
{
    for (int which = 0; which < 2; which++) {
        while (pass_output(c, chan, which)) {
        }
        close_fd(&c->out[which]);
    }
    close_fd(&c->in);
    c->pid = 0;
    send_u32('X', chan, WIFEXITED(status) ? WEXITSTATUS(status)
                                          : 128 + WTERMSIG(status));
}

static void reap(int sigfd)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    while (read(sigfd, &info, sizeof(info)) > 0) {
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (int i = 0; i < CHANNELS; i++) {
            if (children[i].pid == pid) {
                finish(&children[i], i, status);
            }
        }
    }
}

static void serve(int sigfd)
{
    struct pollfd fds[2 + 3 * CHANNELS];

    fds[0] = (struct pollfd) { .fd = port, .events = POLLIN };
    fds[1] = (struct pollfd) { .fd = sigfd, .events = POLLIN };
    for (int i = 0; i < CHANNELS; i++) {
        Child *c = &children[i];
        struct pollfd *f = fds + 2 + 3 * i;

        f[0] = (struct pollfd) { c->pid ? c->out[0] : -1, POLLIN, 0 };
        f[1] = (struct pollfd) { c->pid ? c->out[1] : -1, POLLIN, 0 };
        f[2] = (struct pollfd) { c->pid && c->queued ? c->in : -1,
                                 POLLOUT, 0 };
    }
    if (poll(fds, 2 + 3 * CHANNELS, -1) < 0) {
        return;
    }
    for (int i = 0; i < CHANNELS; i++) {
        struct pollfd *f = fds + 2 + 3 * i;

        for (int which = 0; which < 2; which++) {
            if (f[which].revents) {
                pass_output(&children[i], i, which);
            }
        }
        if (f[2].revents) {
            feed(&children[i], i);
        }
    }
    if (fds[0].revents) {
        serve_port();
    }
    if (fds[1].revents) {
        reap(sigfd);
    }
}

/* The port's name counts virtio devices, of which the disk is one. */
static int open_port(void)
{
    struct timespec pause = { 0, 5 * 1000 * 1000 };
    char path[] = "/dev/vport0p1";

    for (int i = 0; i < 2000; i++) {
        for (char n = '0'; n <= '9'; n++) {
            int fd;

            path[strlen("/dev/vport")] = n;
            fd = open(path, O_RDWR | O_CLOEXEC);
            if (fd >= 0) {
                return fd;
            }
        }
        nanosleep(&pause, NULL);
    }
    die("/dev/vport*p1");
    return -1;
}

static void stage2(void)
{
    sigset_t set;
    int sigfd;

    mount_system();
    loopback_up();
    set_environment();
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigfd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    port = open_port();
    if (sigfd < 0) {
        die("signalfd");
    }
    for (int i = 0; i < CHANNELS; i++) {
        children[i] = (Child) { .in = -1, .out = { -1, -1 } };
    }
    send_frame('R', 0, NULL, 0);
    for (;;) {
        serve(sigfd);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    umask(022);
    if (strcmp(argv[0], STAGE2) == 0) {
        stage2();
    } else {
        stage1();
    }
    return 1;
}
