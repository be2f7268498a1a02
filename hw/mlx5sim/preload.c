/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The object that LD_PRELOAD names. Its constructor runs before main() of
 * whatever program is started with it; in the QEMU it was built for it brings
 * in the device (mlx5sim-device.so beside it), in another QEMU it refuses,
 * and in any other program it does nothing.
 *
 * It needs nothing but the C library, so that any program starts with it, and
 * so that a wrong QEMU is told so before one symbol of QEMU is looked up.
 * What a QEMU is: a program that exports pci_register_bar.
 */
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICE_OBJECT "mlx5sim-device.so"

/* A build-id is 20 bytes (SHA-1); leave room for others. */
#define BUILD_ID_HEX_MAX 129

extern void pci_register_bar(void) __attribute__((weak));

/* Copy the build-id among the notes of @size bytes at @note to @hex. */
static bool preload_note_build_id(const char *note, size_t size, char *hex)
{
    const char *end = note + size;

    while (note + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *head = (const void *)note;
        const char *name = note + sizeof(*head);
        const unsigned char *desc =
            (const void *)(name + ((head->n_namesz + 3) & ~3u));

        if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 &&
            !memcmp(name, "GNU", 4) && head->n_descsz * 2 < BUILD_ID_HEX_MAX) {
            for (unsigned i = 0; i < head->n_descsz; i++) {
                sprintf(hex + 2 * i, "%02x", desc[i]);
            }
            return true;
        }
        note = (const char *)desc + ((head->n_descsz + 3) & ~3u);
    }
    return false;
}

/* dl_iterate_phdr() calls this for the main program first: look no further. */
static int preload_program_build_id(struct dl_phdr_info *info, size_t size,
                                    void *hex)
{
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

        if (ph->p_type == PT_NOTE &&
            preload_note_build_id((const char *)info->dlpi_addr + ph->p_vaddr,
                                  ph->p_memsz, hex)) {
            break;
        }
    }
    return 1;
}

/* Take @self out of LD_PRELOAD: what QEMU starts is not to have us. */
static void preload_clean_environment(const char *self)
{
    const char *old = getenv("LD_PRELOAD");
    char *copy = old ? strdup(old) : NULL;
    char *left = old ? calloc(1, strlen(old) + 1) : NULL;
    char *rest = NULL;

    if (copy && left) {
        /* The linker splits at both. */
        for (char *word = strtok_r(copy, ": ", &rest); word;
             word = strtok_r(NULL, ": ", &rest)) {
            if (strcmp(word, self)) {
                strcat(strcat(left, *left ? ":" : ""), word);
            }
        }
        if (*left) {
            setenv("LD_PRELOAD", left, 1);
        } else {
            unsetenv("LD_PRELOAD");
        }
    }
    free(copy);
    free(left);
}

/* Tell that the running QEMU is another than ours, and what to do. */
static void preload_refuse(const char *self, const char *build_id)
{
    char program[PATH_MAX] = "this QEMU";
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (len > 0) {
        program[len] = '\0';
    }
    fprintf(stderr,
            "mlx5sim: %s was built for QEMU %s (build-id %s)\n"
            "mlx5sim: and does not fit %s (build-id %s).\n"
            "mlx5sim: Start QEMU through tools/qemu-mlx5sim, which picks the "
            "right one, or rebuild:\n"
            "mlx5sim:     tools/mlx5sim-plugin build --qemu %s\n",
            self, MLX5SIM_QEMU_PACKAGE, MLX5SIM_QEMU_BUILD_ID, program,
            *build_id ? build_id : "none", program);
    exit(1);
}

/* Bring in the device object beside @self and let it register. */
static void preload_start_device(const char *self)
{
    char path[PATH_MAX];
    const char *slash = strrchr(self, '/');
    int dir_len = slash ? (int)(slash - self + 1) : 0;
    void (*start)(void);
    void *object;

    if ((size_t)snprintf(path, sizeof(path), "%.*s%s", dir_len, self,
                         DEVICE_OBJECT) >= sizeof(path)) {
        fprintf(stderr, "mlx5sim: %s: the path is too long\n", self);
        exit(1);
    }
    object = dlopen(path, RTLD_NOW);
    start =
        object ? (void (*)(void))dlsym(object, "mlx5sim_plugin_start") : NULL;
    if (!start) {
        fprintf(stderr, "mlx5sim: %s\n", dlerror());
        exit(1);
    }
    start();
}

__attribute__((constructor)) static void preload_init(void)
{
    char build_id[BUILD_ID_HEX_MAX] = "";
    Dl_info info;

    if (!pci_register_bar || !dladdr((void *)preload_init, &info)) {
        return;
    }
    preload_clean_environment(info.dli_fname);
    dl_iterate_phdr(preload_program_build_id, build_id);
    if (strcmp(build_id, MLX5SIM_QEMU_BUILD_ID)) {
        preload_refuse(info.dli_fname, build_id);
    }
    preload_start_device(info.dli_fname);
}
