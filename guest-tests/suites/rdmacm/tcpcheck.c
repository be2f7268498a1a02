/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plain TCP program: it knows nothing of RDMA and is run over rsockets.
 * The server returns what it gets, the client checks what comes back.
 *
 *     tcpcheck PORT                  one connection, then exit
 *     tcpcheck PORT ADDRESS BYTES
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char buf[16384];

static void write_all(int fd, const char *from, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(fd, from, bytes);

        if (n <= 0) {
            err(1, "write");
        }
        from += n;
        bytes -= n;
    }
}

static void read_all(int fd, char *to, size_t bytes)
{
    while (bytes) {
        ssize_t n = read(fd, to, bytes);

        if (n <= 0) {
            err(1, "read");
        }
        to += n;
        bytes -= n;
    }
}

static void serve(struct sockaddr_in *addr)
{
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0), fd;
    ssize_t n;

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(listener, (struct sockaddr *)addr, sizeof(*addr)) ||
        listen(listener, 1)) {
        err(1, "listen");
    }
    fd = accept(listener, NULL, NULL);
    if (fd < 0) {
        err(1, "accept");
    }
    while ((n = read(fd, buf, sizeof(buf))) > 0) {
        write_all(fd, buf, n);
    }
    if (n < 0) {
        err(1, "read");
    }
    close(fd);
    close(listener);
}

/* The byte at a place of the stream: never the same in two near blocks. */
static char expected(size_t at)
{
    return (char)((at * 2654435761u) >> 13);
}

static void exchange(int fd, size_t at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        buf[i] = expected(at + i);
    }
    write_all(fd, buf, bytes);
    memset(buf, 0, bytes);
    read_all(fd, buf, bytes);
    for (size_t i = 0; i < bytes; i++) {
        if (buf[i] != expected(at + i)) {
            errx(1, "wrong byte at %zu", at + i);
        }
    }
}

static void call(struct sockaddr_in *addr, size_t bytes)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (struct sockaddr *)addr, sizeof(*addr))) {
        err(1, "connect");
    }
    for (size_t at = 0; at < bytes; at += sizeof(buf)) {
        size_t left = bytes - at;

        exchange(fd, at, left < sizeof(buf) ? left : sizeof(buf));
    }
    shutdown(fd, SHUT_RDWR);
    close(fd);
}

int main(int argc, char **argv)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};

    if (argc != 2 && argc != 4) {
        errx(2, "usage: tcpcheck PORT [ADDRESS BYTES]");
    }
    addr.sin_port = htons(atoi(argv[1]));
    if (argc == 2) {
        serve(&addr);
        return 0;
    }
    if (inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1) {
        errx(2, "not an address: %s", argv[2]);
    }
    call(&addr, strtoul(argv[3], NULL, 0));
    puts("same");
    return 0;
}
