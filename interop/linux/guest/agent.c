/* The guest's first process: runs programs for the host.
 *
 * Lines with tabs between their fields, from the host over a virtio port:
 *   start ID PROGRAM ARGUMENT...   (PROGRAM "peer" is this one)
 *   kill ID SIGNAL
 * and back: `ready 0`, `out ID LINE`, `exit ID STATUS` (128 and the signal for a killed one).
 */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS = 32, LINE = 8192, WORDS = 64 };

struct lines {
    char bytes[LINE];
    size_t len;
};

struct job {
    pid_t pid; /* 0: free */
    int id, out; /* out: -1 once it is at its end */
    bool ended;
    int status;
    struct lines lines;
};

static struct job jobs[JOBS];
static int port = -1;

/* Writes a line of up to three fields to the host. */
static void tell(const char *what, int id, const char *text)
{
    char line[LINE + 64];
    int len = snprintf(line, sizeof line, "%s\t%d\t%s\n", what, id, text);
    for (int at = 0; at < len;) {
        ssize_t done = write(port, line + at, (size_t)(len - at));
        if (done > 0)
            at += (int)done;
        else if (errno == EAGAIN)
            poll(&(struct pollfd) { .fd = port, .events = POLLOUT }, 1, 1000);
        else if (errno != EINTR)
            return; /* Nobody listens any more; the host ends the guest. */
    }
}

/* Splits what was read into lines; `line` gets each with its `context`. */
static bool take(int fd, struct lines *lines, void (*line)(char *, int), int context)
{
    ssize_t got = read(fd, lines->bytes + lines->len, LINE - 1 - lines->len);
    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    lines->len += (size_t)got;
    for (;;) {
        char *end = memchr(lines->bytes, '\n', lines->len);
        if (!end && lines->len < LINE - 1)
            return true;
        if (!end)
            end = lines->bytes + lines->len; /* Too long: cut. */
        *end = '\0';
        line(lines->bytes, context);
        size_t used = (size_t)(end - lines->bytes) + 1;
        lines->len = used < lines->len ? lines->len - used : 0;
        memmove(lines->bytes, lines->bytes + used, lines->len);
    }
}

static void run(char **words, int out)
{
    dup2(out, 1);
    dup2(out, 2);
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    if (strcmp(words[0], "peer") == 0) {
        char *program[WORDS + 2] = { "guest" };
        for (int i = 0; words[i] && i < WORDS; i++)
            program[i + 1] = words[i];
        execv("/proc/self/exe", program);
    }
    execvp(words[0], words);
    fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

static void start(int id, char **words)
{
    int pipes[2];
    for (struct job *job = jobs; job < jobs + JOBS; job++) {
        if (job->pid != 0)
            continue;
        if (pipe(pipes) != 0)
            break;
        pid_t pid = fork();
        if (pid == 0)
            run(words, pipes[1]);
        close(pipes[1]);
        if (pid < 0) {
            close(pipes[0]);
            break;
        }
        memset(job, 0, sizeof *job);
        job->pid = pid;
        job->id = id;
        job->out = pipes[0];
        return;
    }
    tell("exit", id, "126");
}

static void command(char *line, int unused)
{
    char *words[WORDS + 1] = { 0 };
    int count = 0;
    (void)unused;
    for (char *word; count < WORDS && (word = strsep(&line, "\t"));)
        words[count++] = word;
    if (count >= 3 && strcmp(words[0], "start") == 0)
        start(atoi(words[1]), words + 2);
    if (count == 3 && strcmp(words[0], "kill") == 0)
        for (struct job *job = jobs; job < jobs + JOBS; job++)
            if (job->pid > 0 && !job->ended && job->id == atoi(words[1]))
                kill(job->pid, atoi(words[2]));
}

static void output(char *line, int id)
{
    tell("out", id, line);
}

static void reap(void)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (struct job *job = jobs; job < jobs + JOBS; job++)
            if (job->pid == pid) {
                job->ended = true;
                job->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            }
    for (struct job *job = jobs; job < jobs + JOBS; job++)
        if (job->pid != 0 && job->ended && job->out < 0) {
            char text[16];
            snprintf(text, sizeof text, "%d", job->status);
            tell("exit", job->id, text);
            job->pid = 0;
        }
}

int agent(const char *device)
{
    static struct lines commands;
    struct pollfd wanted[JOBS + 1];
    port = open(device, O_RDWR | O_NONBLOCK);
    if (port < 0) {
        perror(device);
        return 1;
    }
    tell("ready", 0, "");
    for (;;) {
        nfds_t count = 0;
        wanted[count++] = (struct pollfd) { .fd = port, .events = POLLIN };
        for (struct job *job = jobs; job < jobs + JOBS; job++)
            if (job->pid != 0 && job->out >= 0)
                wanted[count++] = (struct pollfd) { .fd = job->out, .events = POLLIN };
        poll(wanted, count, 50); /* Children that end are looked for this often. */
        if (wanted[0].revents & POLLIN)
            take(port, &commands, command, 0);
        for (nfds_t i = 1; i < count; i++)
            for (struct job *job = jobs; job < jobs + JOBS; job++)
                if (job->pid != 0 && job->out == wanted[i].fd && wanted[i].revents
                    && !take(job->out, &job->lines, output, job->id)) {
                    close(job->out);
                    job->out = -1;
                    break;
                }
        reap();
    }
}
