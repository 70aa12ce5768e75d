/* The C library without a system under it.
 *
 * wasi-libc asks WASI for files, clocks and the like; a pass may import the contract only. The functions that it would import
 * are defined here instead: what is written to standard output and standard error becomes lines of the run's log, everything
 * else is not there. What a pass does not use is not linked. */

#include <airlock.h>

#include <string.h>

#define BAD_FILE 8        /* WASI's errno badf */
#define NO_SUCH_THING 52  /* WASI's errno nosys */

typedef struct {
    const uint8_t *ptr;
    size_t len;
} piece;

/* A line that is not complete yet, one for each of standard output and standard error. */
static struct {
    uint8_t text[1024];
    size_t len;
} lines[2];

static void end_line(int which) {
    al_text text = {lines[which].text, lines[which].len};
    airlock_pass_host_log(which ? AIRLOCK_PASS_HOST_LEVEL_WARN : AIRLOCK_PASS_HOST_LEVEL_INFO, &text);
    lines[which].len = 0;
}

static void put(int which, uint8_t c) {
    if (c == '\n') {
        end_line(which);
        return;
    }
    if (lines[which].len == sizeof lines[which].text) end_line(which);
    lines[which].text[lines[which].len++] = c;
}

int32_t __imported_wasi_snapshot_preview1_fd_write(int32_t fd, int32_t pieces, int32_t count, int32_t written) {
    if (fd != 1 && fd != 2) return BAD_FILE;
    const piece *all = (const piece *)pieces;
    size_t total = 0;
    for (int32_t i = 0; i < count; i++) {
        for (size_t j = 0; j < all[i].len; j++) put(fd - 1, all[i].ptr[j]);
        total += all[i].len;
    }
    *(size_t *)written = total;
    return 0;
}

/* A terminal to the C library: it hands on whole lines. */
int32_t __imported_wasi_snapshot_preview1_fd_fdstat_get(int32_t fd, int32_t stat) {
    if (fd != 1 && fd != 2) return BAD_FILE;
    memset((void *)stat, 0, 24);
    *(uint8_t *)stat = 2; /* character device */
    return 0;
}

int32_t __imported_wasi_snapshot_preview1_fd_close(int32_t fd) { return fd == 1 || fd == 2 ? 0 : BAD_FILE; }

/* The name that zig's C library has for it. */
int32_t al_zig_fd_close(int32_t fd) __asm__("fd_close|wasi_snapshot_preview1");
int32_t al_zig_fd_close(int32_t fd) { return __imported_wasi_snapshot_preview1_fd_close(fd); }

int32_t __imported_wasi_snapshot_preview1_fd_seek(int32_t fd, int64_t offset, int32_t whence, int32_t at) {
    (void)fd, (void)offset, (void)whence, (void)at;
    return NO_SUCH_THING;
}

int32_t __imported_wasi_snapshot_preview1_fd_read(int32_t fd, int32_t pieces, int32_t count, int32_t read) {
    (void)fd, (void)pieces, (void)count, (void)read;
    return BAD_FILE;
}

int32_t __imported_wasi_snapshot_preview1_environ_sizes_get(int32_t count, int32_t bytes) {
    *(size_t *)count = 0;
    *(size_t *)bytes = 0;
    return 0;
}

int32_t __imported_wasi_snapshot_preview1_environ_get(int32_t texts, int32_t bytes) {
    (void)texts, (void)bytes;
    return 0;
}

_Noreturn void __imported_wasi_snapshot_preview1_proc_exit(int32_t code) {
    (void)code;
    __builtin_trap();
}

/* The C library's own way to write out what is buffered at the end; null in a pass that prints nothing. */
extern void __stdio_exit(void) __attribute__((weak));

void al_flush_stdio(void) {
    if (__stdio_exit) __stdio_exit();
    for (int which = 0; which < 2; which++) {
        if (lines[which].len) end_line(which);
    }
}
