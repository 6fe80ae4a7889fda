#include "render/browser.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread/log.h"

#define BROWSER_PIECE  ((size_t)65536)
#define BROWSER_FOLDER "ragno-render."
#define BROWSER_TMPDIR 90 /* characters of its name; a longer one is not used */
#define BROWSER_FDS    16 /* pipes are moved behind those that the child gives numbers of its own */
#define OOM_FIRST      "1000" /* the kernel ends browsers before anything else */

static const char *const browser_commands[] = {"chromium-headless-shell", "chromium"};

#define BROWSER_WITHOUT                                                                            \
    "--disable-features="                                                                          \
    "SpareRendererForSitePerProcess,ProactivelySwapBrowsingInstance,"                              \
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup," /* a page of its own beside each tab */              \
    "BackForwardCache,Translate,OptimizationHints,MediaRouter,"                                    \
    "DialMediaRouteProvider,InterestFeedContentSuggestions,"                                       \
    "CertificateTransparencyComponentUpdater,AutofillServerCommunication,"                         \
    "Prerender2,SpeculationRulesPrefetchFuture"

/* What keeps it quiet, small and away from any network. Site isolation would put frames of other
 * hosts into processes whose requests are paused elsewhere; the same-origin rules hold without it,
 * and each profile lives for a few pages.
 *
 * The last wall is a proxy and a resolver that lead nowhere: host-resolver-rules answers no name,
 * and what asks for an address all the same (loopback included, hence the bypass list) is sent to a
 * SOCKS proxy at port 1, where nobody listens. WebRTC has flags of its own, since it does not use
 * either. */
static const char *const browser_flags[] = {
    "--headless",
    "--renderer-process-limit=1", /* of one context: each host would get one */
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-startup-window",
    "--no-pings",
    "--mute-audio",
    "--disable-gpu",
    "--disable-software-rasterizer",
    "--in-process-gpu",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-crashpad-for-testing",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-notifications",
    "--disable-speech-api",
    "--disable-dev-shm-usage",
    "--disable-site-isolation-trials",
    BROWSER_WITHOUT,
    "--enable-features=NetworkServiceInProcess2",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=socks5://127.0.0.1:1",
    "--proxy-bypass-list=<-loopback>",
    "--password-store=basic",
    "--use-mock-keychain",
    "--window-size=1280,1024",
    "--lang=en-US",
};

#define BROWSER_FLAGS (sizeof browser_flags / sizeof *browser_flags)

void browser_init(Browser *browser)
{
    /* -1, since 0 is a descriptor: browser_stop closes what is not negative. */
    *browser = (Browser){.in = -1, .out = -1, .wake = -1};
}

/* ---- what is started ---- */

static bool browser_is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

/* The first program of that name on PATH, in path. */
static bool browser_on_path(const char *name, Buffer *path)
{
    const char *next = getenv("PATH");
    while (next != NULL && *next != '\0') {
        size_t length = strcspn(next, ":");
        buffer_reset(path);
        /* An empty entry would mean the folder that the crawl was started in: nothing is run from
         * there. */
        if (buffer_printf(path, "%.*s/%s", (int)length, next, name) == RESULT_OK && length > 0 &&
            browser_is_program(path->data)) {
            return true;
        }
        next += length;
        next += strspn(next, ":");
    }
    return false;
}

/* Debian's programs in /usr/bin are scripts, which start the program beside its libraries; that of
 * chromium looks for fonts and desktops before. */
static void browser_past_script(Buffer *path)
{
    static const char *const real[][2] = {
        {"/usr/bin/chromium-headless-shell", "/usr/lib/chromium/chromium-headless-shell"},
        {"/usr/bin/chromium", "/usr/lib/chromium/chromium"}};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        if (strcmp(path->data, real[i][0]) == 0 && browser_is_program(real[i][1])) {
            buffer_reset(path);
            (void)buffer_append_string(path, real[i][1]);
        }
    }
}

static Result browser_find(const char *command, Buffer *path)
{
    buffer_reset(path);
    /* As a shell has it: what has a slash is a path, and is not looked for. */
    if (strchr(command, '/') != NULL) {
        Result rc = buffer_append_string(path, command);
        return rc == RESULT_OK && !browser_is_program(command) ? RESULT_NOT_FOUND : rc;
    }
    bool found = *command != '\0' && browser_on_path(command, path);
    for (size_t i = 0; *command == '\0' && !found && i < 2; i++) {
        found = browser_on_path(browser_commands[i], path);
    }
    if (found) {
        browser_past_script(path);
    }
    return found ? RESULT_OK : RESULT_NOT_FOUND;
}

/* Whom it runs as; 0: as this process does. */
static Result browser_user(const BrowserOptions *options, uid_t *user, gid_t *group)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char text[4096];
    *user = 0;
    *group = 0;
    if (geteuid() != 0) {
        return RESULT_OK;
    }
    /* Root's renderer would be root when its sandbox breaks, and Chromium refuses to have one as
     * root. */
    if (*options->user == '\0' ||
        getpwnam_r(options->user, &entry, text, sizeof text, &found) != 0 || found == NULL ||
        entry.pw_uid == 0) {
        return RESULT_INVALID;
    }
    *user = entry.pw_uid;
    *group = entry.pw_gid;
    return RESULT_OK;
}

Result browser_look(const BrowserOptions *options, Buffer *path)
{
    uid_t user = 0;
    gid_t group = 0;
    Result rc = browser_find(options->command, path);
    if (rc == RESULT_NOT_FOUND) {
        buffer_reset(path);
        const char *what =
            *options->command == '\0' ? "chromium-headless-shell or chromium" : options->command;
        (void)buffer_printf(path, "no browser: there is no %s (`make deps-render` installs one)",
                            what);
        return rc;
    }
    if (rc == RESULT_OK) {
        rc = browser_user(options, &user, &group);
    }
    if (rc == RESULT_INVALID) {
        buffer_reset(path);
        (void)buffer_printf(path,
                            *options->user == '\0'
                                ? "a browser is not run as root: name a user in render.user%s"
                                : "render.user = %s: there is no such user, or it is root",
                            options->user);
    }
    return rc;
}

/* ---- its folder ---- */

static int browser_remove_one(const char *path, const struct stat *about, int kind,
                              struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

static void browser_remove(const char *folder)
{
    /* FTW_PHYS: a page may have made a link in its profile, which must not lead us out of it.
     * FTW_DEPTH: a folder goes after what is in it. */
    (void)nftw(folder, browser_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Whether another user can get at what is in a folder. */
static bool browser_is_open(const char *folder)
{
    char path[BROWSER_TMPDIR + 1];
    struct stat about;
    /* Each folder on the way must let others through, from the first below the root on. */
    for (size_t i = 1; folder[i - 1] != '\0'; i++) {
        if (folder[i] == '/' || folder[i] == '\0') {
            (void)snprintf(path, sizeof path, "%.*s", (int)i, folder);
            if (stat(path, &about) != 0 || (about.st_mode & S_IXOTH) == 0) {
                return false;
            }
        }
    }
    return true;
}

/* TMPDIR, unless the browser runs as another user to whom it is closed. */
static const char *browser_temporary(void)
{
    const char *folder = getenv("TMPDIR");
    bool is_named = folder != NULL && *folder == '/' && strlen(folder) <= BROWSER_TMPDIR;
    return is_named && (geteuid() != 0 || browser_is_open(folder)) ? folder : "/tmp";
}

/* Folders whose process has ended without removing them. */
static void browser_sweep(void)
{
    DIR *all = opendir(browser_temporary());
    const struct dirent *entry = NULL;
    size_t prefix = sizeof BROWSER_FOLDER - 1;
    while (all != NULL && (entry = readdir(all)) != NULL) {
        char path[BROWSER_TMPDIR + 300];
        char *end = NULL;
        if (strncmp(entry->d_name, BROWSER_FOLDER, prefix) != 0) {
            continue;
        }
        long pid = strtol(entry->d_name + prefix, &end, 10);
        struct stat about;
        (void)snprintf(path, sizeof path, "%s/%s", browser_temporary(), entry->d_name);
        /* ESRCH alone: a process of another user answers EPERM, and is alive. A number that was
         * given to another process meanwhile keeps its folder until that one ends. */
        bool is_stale = pid > 0 && *end == '.' && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
        /* TMPDIR is everybody's: a link of this name was made by somebody else. */
        if (is_stale && lstat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
            browser_remove(path);
        }
    }
    if (all != NULL) {
        (void)closedir(all);
    }
}

static Result browser_make_folder(Browser *browser, uid_t user, gid_t group)
{
    browser_sweep();
    /* The name has our process in it, by which the sweep of a later crawl knows that it is
     * nobody's. mkdtemp makes it for its owner alone. */
    (void)snprintf(browser->folder, sizeof browser->folder, "%s/" BROWSER_FOLDER "%ld.XXXXXX",
                   browser_temporary(), (long)getpid());
    if (mkdtemp(browser->folder) == NULL ||
        (user != 0 && chown(browser->folder, user, group) != 0)) {
        Result rc = result_of_errno(errno);
        LOG_ERROR("render", "no folder for a browser", "path=%s error=%s", browser->folder,
                  result_name(rc));
        return rc;
    }
    return RESULT_OK;
}

/* ---- the child ---- */

/* All that the child needs is made before the fork: between fork and exec of a process with threads
 * only calls are allowed that take no lock. */
typedef struct BrowserChild {
    char *const *argv;
    char *const *envp;
    int in;
    int out;
    int null;
    int told; /* gets a byte when it has a network namespace; closed by exec */
    uid_t user;
    gid_t group;
    char uid_map[64];
    char gid_map[64];
    pid_t parent;
} BrowserChild;

static bool browser_child_writes(const char *path, const char *text)
{
    /* open, write and close are safe between fork and exec; stdio is not. */
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t length = strlen(text);
    bool done = fd >= 0 && write(fd, text, length) == (ssize_t)length;
    if (fd >= 0) {
        (void)close(fd);
    }
    return done;
}

/* A user namespace that maps its user alone, for the sake of the network namespace. */
static void browser_child_cuts_off(const BrowserChild *child)
{
    /* Kernels and containers may forbid it. Then the flags and the answers that rendering.h gives
     * to each request are the walls that are left, and browser_fork tells by is_cut_off. */
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        return;
    }
    /* The kernel takes a gid_map from an ordinary user only when groups cannot be changed any
     * more. */
    (void)browser_child_writes("/proc/self/setgroups", "deny");
    if (browser_child_writes("/proc/self/uid_map", child->uid_map) &&
        browser_child_writes("/proc/self/gid_map", child->gid_map)) {
        (void)!write(child->told, "n", 1);
    }
}

/* What render.memory and render.cpu_time, which are looked at now and then, would see too late.
 * Stacks of threads count as data although they are hardly used. */
static void browser_child_limit(void)
{
    static const struct {
        int what;
        rlim_t most;
    } limits[] = {{RLIMIT_CORE, 0},
                  {RLIMIT_DATA, (rlim_t)8 << 30},
                  {RLIMIT_FSIZE, (rlim_t)1 << 30},
                  {RLIMIT_NOFILE, 4096}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit limit = {0};
        if (getrlimit((unsigned)limits[i].what, &limit) == 0 && limit.rlim_max > limits[i].most) {
            limit = (struct rlimit){.rlim_cur = limits[i].most, .rlim_max = limits[i].most};
            (void)setrlimit((unsigned)limits[i].what, &limit);
        }
    }
}

static void browser_child_main(const BrowserChild *child)
{
    /* The order matters. The session is first, by which browser_look_around finds all its
     * processes. Groups come before the user, who may not change them. Behind the user comes what
     * its change takes back: dumpable, without which /proc/self belongs to root and the maps cannot
     * be written, and the death signal. */
    (void)setsid();
    browser_child_limit();
    (void)browser_child_writes("/proc/self/oom_score_adj", OOM_FIRST);
    if (child->user != 0 &&
        (syscall(SYS_setgroups, 0, NULL) != 0 ||
         syscall(SYS_setresgid, child->group, child->group, child->group) != 0 ||
         syscall(SYS_setresuid, child->user, child->user, child->user) != 0)) {
        _exit(126);
    }
    (void)prctl(PR_SET_DUMPABLE, 1);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent may have died before the death signal was asked for; then nobody would send it. */
    if (getppid() != child->parent) {
        _exit(126); /* the crawl has ended meanwhile */
    }
    browser_child_cuts_off(child);
    /* The pipes have numbers from BROWSER_FDS on, so that no dup2 closes what a later one
     * copies. */
    for (int i = 0; i < 3; i++) {
        (void)dup2(child->null, i);
    }
    (void)dup2(child->in, 3);
    (void)dup2(child->out, 4);
    /* What other threads have opened without O_CLOEXEC, libraries' sockets and databases for
     * example, must not reach a program that runs foreign scripts. */
    (void)syscall(SYS_close_range, 5, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */);
    /* Masks and ignored signals outlive exec: the crawl blocks nearly all, and ignores SIGPIPE. */
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)execve(child->argv[0], child->argv, child->envp);
    _exit(127);
}

/* Moves a descriptor out of the way of those that the child makes. */
static int browser_fd_beyond(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, BROWSER_FDS);
    (void)close(fd);
    return moved;
}

static void browser_close_all(int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
            fds[i] = -1;
        }
    }
}

/* Pipes to it, from it, and the one that tells of its namespace, and /dev/null. */
enum { FD_IN, FD_TO, FD_FROM, FD_OUT, FD_HEARD, FD_TOLD, FD_NULL, FD_COUNT };

static Result browser_make_pipes(int fds[FD_COUNT])
{
    for (size_t i = 0; i < FD_COUNT; i++) {
        fds[i] = -1;
    }
    for (size_t i = FD_IN; i < FD_NULL; i += 2) {
        if (pipe2(fds + i, O_CLOEXEC) != 0) {
            return result_of_errno(errno);
        }
        fds[i] = browser_fd_beyond(fds[i]);
        fds[i + 1] = browser_fd_beyond(fds[i + 1]);
        if (fds[i] < 0 || fds[i + 1] < 0) {
            return RESULT_LIMIT;
        }
    }
    fds[FD_NULL] = open("/dev/null", O_RDWR | O_CLOEXEC);
    /* Only our ends do not block: the browser expects its own to. */
    if (fds[FD_NULL] < 0 || fcntl(fds[FD_TO], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(fds[FD_FROM], F_SETFL, O_NONBLOCK) != 0) {
        return result_of_errno(errno);
    }
    return RESULT_OK;
}

static Result browser_fork(Browser *browser, BrowserChild *child, int fds[FD_COUNT])
{
    child->in = fds[FD_IN];
    child->out = fds[FD_OUT];
    child->told = fds[FD_TOLD];
    child->null = fds[FD_NULL];
    child->parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        browser_child_main(child);
    }
    if (pid < 0) {
        return result_of_errno(errno);
    }
    browser->pid = pid;
    browser->in = fds[FD_TO];
    browser->out = fds[FD_FROM];
    fds[FD_TO] = -1;
    fds[FD_FROM] = -1;
    /* Our copy goes first: then the read below ends with exec, or with the child, and cannot wait
     * forever. */
    browser_close_all(&fds[FD_TOLD], 1);
    char word = '\0';
    browser->is_cut_off = read(fds[FD_HEARD], &word, 1) == 1;
    return RESULT_OK;
}

static Result browser_spawn(Browser *browser, const char *path, uid_t user, gid_t group)
{
    char profile[sizeof browser->folder + 32];
    char home[sizeof browser->folder + 8];
    char temporary[sizeof browser->folder + 8];
    const char *argv[BROWSER_FLAGS + 3];
    (void)snprintf(profile, sizeof profile, "--user-data-dir=%s/profile", browser->folder);
    (void)snprintf(home, sizeof home, "HOME=%s", browser->folder);
    (void)snprintf(temporary, sizeof temporary, "TMPDIR=%s", browser->folder);
    argv[0] = path;
    memcpy(argv + 1, browser_flags, sizeof browser_flags);
    argv[BROWSER_FLAGS + 1] = profile;
    argv[BROWSER_FLAGS + 2] = NULL;
    /* Nothing of our environment: it may hold the crawl's credentials (RAGNO_...), or proxies. */
    const char *envp[] = {home, temporary, "PATH=/usr/bin:/bin", "TZ=UTC", "LANG=C.UTF-8", NULL};
    BrowserChild child = {.argv = (char *const *)(uintptr_t)argv,
                          .envp = (char *const *)(uintptr_t)envp,
                          .user = user,
                          .group = group};
    /* Mapped to itself, so that files in its folder stay its own. */
    unsigned uid = user != 0 ? user : geteuid();
    unsigned gid = user != 0 ? group : getegid();
    (void)snprintf(child.uid_map, sizeof child.uid_map, "%u %u 1", uid, uid);
    (void)snprintf(child.gid_map, sizeof child.gid_map, "%u %u 1", gid, gid);
    int fds[FD_COUNT];
    Result rc = browser_make_pipes(fds);
    if (rc == RESULT_OK) {
        rc = browser_fork(browser, &child, fds);
    }
    browser_close_all(fds, FD_COUNT);
    return rc;
}

Result browser_start(Browser *browser, const BrowserOptions *options)
{
    uid_t user = 0;
    gid_t group = 0;
    Buffer path;
    buffer_init(&path, 4096);
    Result rc = browser_look(options, &path);
    if (rc == RESULT_OK) {
        rc = browser_user(options, &user, &group);
    }
    if (rc == RESULT_OK) {
        rc = browser_make_folder(browser, user, group);
    }
    if (rc == RESULT_OK) {
        rc = browser_spawn(browser, path.data, user, group);
    }
    buffer_destroy(&path);
    browser->wake = rc == RESULT_OK ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (rc == RESULT_OK && browser->wake < 0) {
        rc = result_of_errno(errno);
    }
    if (rc != RESULT_OK) {
        browser_stop(browser);
    }
    return rc;
}

/* The processes of its sandbox are children of one that is the first of its own namespace of
 * processes; with that one all of them end. */
void browser_kill(const Browser *browser)
{
    if (browser->pid != 0) {
        (void)kill(-browser->pid, SIGKILL);
        (void)kill(browser->pid, SIGKILL);
    }
}

void browser_stop(Browser *browser)
{
    browser_kill(browser);
    /* Waited for before its folder goes: what still runs would write into it again. */
    while (browser->pid != 0 && waitpid(browser->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    browser_close_all(&browser->in, 1);
    browser_close_all(&browser->out, 1);
    browser_close_all(&browser->wake, 1);
    if (browser->folder[0] != '\0') {
        browser_remove(browser->folder);
    }
    browser_init(browser);
}

/* ---- messages ---- */

Result browser_write(const Browser *browser, const Buffer *out, size_t *written)
{
    if (*written == out->length) {
        return RESULT_OK;
    }
    /* A full pipe takes nothing now (EAGAIN): browser_wait with `writes` says when it does. SIGPIPE
     * is ignored in this process, so an ended child is EPIPE. */
    ssize_t n = write(browser->in, out->data + *written, out->length - *written);
    if (n < 0) {
        bool again = errno == EAGAIN || errno == EINTR;
        Result broken = errno == EPIPE ? RESULT_CLOSED : RESULT_IO;
        return again ? RESULT_OK : broken;
    }
    *written += (size_t)n;
    return RESULT_OK;
}

Result browser_read(const Browser *browser, Buffer *in)
{
    Result rc = buffer_reserve(in, BROWSER_PIECE);
    if (rc != RESULT_OK) {
        return rc;
    }
    ssize_t n = read(browser->out, in->data + in->length, BROWSER_PIECE);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? RESULT_OK : RESULT_IO;
    }
    in->length += (size_t)n;
    /* buffer_reserve leaves room for it; messages end with a zero byte of their own in between. */
    in->data[in->length] = '\0';
    return n == 0 ? RESULT_CLOSED : RESULT_OK;
}

Result browser_wait(const Browser *browser, bool writes, MonoTime deadline)
{
    int64_t left = mono_ms_between(mono_now(), deadline);
    uint64_t told = 0;
    if (left < 0) {
        return RESULT_TIMEOUT;
    }
    struct pollfd fds[3] = {{.fd = browser->out, .events = POLLIN},
                            {.fd = browser->wake, .events = POLLIN},
                            {.fd = writes ? browser->in : -1, .events = POLLOUT}};
    /* A minute at most, since poll counts in int; whoever waits longer comes again. One ms more,
     * since `left` was rounded down and 0 would spin. */
    int n = poll(fds, 3, left > 60000 ? 60000 : (int)left + 1);
    if (n < 0) {
        return errno == EINTR ? RESULT_OK : RESULT_IO;
    }
    if (fds[1].revents != 0) {
        (void)!read(browser->wake, &told, sizeof told);
    }
    return n == 0 ? RESULT_TIMEOUT : RESULT_OK;
}

void browser_wake(const Browser *browser)
{
    uint64_t one = 1;
    (void)!write(browser->wake, &one, sizeof one);
}

/* ---- what it takes ---- */

/* The beginning of /proc/PID/FILE as a string. False, and "": there is none. It may end between any
 * two calls; then a process counts as nothing. */
static bool browser_proc(const char *pid, const char *file, char *text, size_t size)
{
    char path[300];
    (void)snprintf(path, sizeof path, "/proc/%s/%s", pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0) {
        (void)close(fd);
    }
    text[n < 0 ? 0 : n] = '\0';
    return n > 0;
}

/* The number in a field of a line, counted from 0; 0: there is none. */
static unsigned long long browser_field(const char *line, unsigned field)
{
    for (unsigned i = 0; i < field; i++) {
        line += strspn(line, " ");
        line += strcspn(line, " ");
    }
    return strtoull(line, NULL, 10);
}

/* What /proc says of one. */
typedef struct BrowserStat {
    int64_t cpu_ms;
    unsigned long long began; /* the kernel's ticks */
} BrowserStat;

/* Of /proc/PID/stat behind the name: state, parent, group, session, ..., from the twelfth field on
 * the time in user and kernel mode, its own and that of the children it has waited for, and in the
 * twentieth its start. False: it is none of the browser's. */
static bool browser_look_at(const Browser *browser, pid_t process, BrowserStat *stat)
{
    char pid[24];
    char text[1024];
    (void)snprintf(pid, sizeof pid, "%ld", (long)process);
    /* The name stands in parentheses and may hold any, so the last one ends it. The session is
     * asked for each time: a number may belong to another process by now. */
    const char *fields = browser_proc(pid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    if (fields == NULL || browser_field(fields + 1, 3) != (unsigned long long)browser->pid) {
        return false;
    }
    unsigned long long ticks = 0;
    for (unsigned i = 11; i < 15; i++) {
        ticks += browser_field(fields + 1, i);
    }
    *stat =
        (BrowserStat){.cpu_ms = (int64_t)(ticks * 1000 / (unsigned long long)sysconf(_SC_CLK_TCK)),
                      .began = browser_field(fields + 1, 19)};
    return true;
}

static uint64_t browser_memory_of(pid_t process)
{
    char pid[24];
    char text[1024];
    (void)snprintf(pid, sizeof pid, "%ld", (long)process);
    if (!browser_proc(pid, "statm", text, sizeof text)) {
        return 0;
    }
    unsigned long long resident = browser_field(text, 1);
    unsigned long long shared = browser_field(text, 2);
    /* What is shared is the program's text and libraries, which all processes have once. */
    return resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static bool browser_runs_pages(const char *pid)
{
    static const char kind[] = "--type=renderer";
    char text[4096] = ""; /* words with NUL bytes between them */
    bool is_read = browser_proc(pid, "cmdline", text, sizeof text);
    return is_read && memmem(text, sizeof text, kind, sizeof kind - 1) != NULL;
}

/* Remembers which processes there are. */
static void browser_look_around(Browser *browser)
{
    DIR *all = browser->pid == 0 ? NULL : opendir("/proc");
    const struct dirent *entry = NULL;
    browser->n_processes = 0;
    while (all != NULL && (entry = readdir(all)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        /* getsid, not /proc/PID/stat: opening a file for each process of the machine took 9 % of
         * the CPU time of a crawl with its browser. From BROWSER_PROCESSES on they are not
         * counted. */
        if (pid > 0 && browser->n_processes < BROWSER_PROCESSES && getsid(pid) == browser->pid) {
            browser->processes[browser->n_processes++] =
                (BrowserProcess){.pid = pid, .runs_pages = browser_runs_pages(entry->d_name)};
        }
    }
    if (all != NULL) {
        (void)closedir(all);
    }
}

/* The tab that has this process; BROWSER_TABS: none. */
static unsigned browser_tab_of(const Browser *browser, pid_t pid)
{
    unsigned tab = 0;
    while (tab < BROWSER_TABS && browser->tabs[tab].pid != pid) {
        tab++;
    }
    return tab;
}

/* Of another tab's process the time that was not counted yet is that tab's. The memory of a process
 * for pages that is no tab's goes with it: its tab was closed. */
static void browser_add_use(const Browser *browser, unsigned tab, const BrowserProcess *process,
                            bool has_memory, BrowserUse *use)
{
    BrowserStat stat;
    unsigned owner = browser_tab_of(browser, process->pid);
    bool is_other = owner != BROWSER_TABS && owner != tab;
    bool is_left = owner == BROWSER_TABS && process->runs_pages && browser->tabs[tab].pid != 0;
    if (browser_look_at(browser, process->pid, &stat)) {
        use->memory_bytes +=
            has_memory && !is_other && !is_left ? browser_memory_of(process->pid) : 0;
        use->cpu_ms += is_other ? browser->tabs[owner].counted_ms : stat.cpu_ms;
    }
}

static BrowserUse browser_sum(const Browser *browser, unsigned tab, bool has_memory)
{
    /* Starts below zero by what was counted: what is left is new. Ended children are in their
     * parent's figures, so their time is not lost. */
    BrowserUse use = {.cpu_ms = -browser->counted_ms};
    for (unsigned i = 0; i < browser->n_processes; i++) {
        browser_add_use(browser, tab, &browser->processes[i], has_memory, &use);
    }
    return use;
}

BrowserUse browser_use(Browser *browser, unsigned tab)
{
    browser_look_around(browser);
    return browser_sum(browser, tab, true);
}

int64_t browser_cpu_ms(const Browser *browser, unsigned tab)
{
    return browser_sum(browser, tab, false).cpu_ms;
}

int64_t browser_count(Browser *browser, unsigned tab)
{
    BrowserStat stat;
    BrowserTab *mine = &browser->tabs[tab];
    int64_t spent = browser_cpu_ms(browser, tab);
    if (spent <= 0) {
        return 0; /* it has ended, or another tab was asked first */
    }
    /* Both counts move on together: the sum's, and the share of it that is this tab's own
     * process. */
    browser->counted_ms += spent;
    if (mine->pid != 0 && browser_look_at(browser, mine->pid, &stat)) {
        mine->counted_ms = stat.cpu_ms;
    }
    return spent;
}

void browser_find_tab(Browser *browser, unsigned tab)
{
    BrowserStat stat;
    unsigned long long youngest = 0;
    /* First, so that the tab's old process is nobody's, and may be found again. */
    browser->tabs[tab] = (BrowserTab){.pid = 0};
    browser_look_around(browser);
    for (unsigned i = 0; i < browser->n_processes; i++) {
        pid_t pid = browser->processes[i].pid;
        if (browser->processes[i].runs_pages && browser_tab_of(browser, pid) == BROWSER_TABS &&
            browser_look_at(browser, pid, &stat) && stat.began >= youngest) {
            youngest = stat.began;
            browser->tabs[tab].pid = pid;
        }
    }
}

void browser_end_tab(const Browser *browser, unsigned tab)
{
    BrowserStat stat;
    pid_t pid = browser->tabs[tab].pid;
    /* Looked at right before: kill must not meet a process that has inherited the number. */
    if (pid != 0 && browser_look_at(browser, pid, &stat)) {
        (void)kill(pid, SIGKILL);
    }
}
