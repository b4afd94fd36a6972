/* The one program of the guest: it makes the kernel's own DCCP sockets do what a cell asks.
 *
 *   guest agent DEVICE                     runs commands that the host writes to DEVICE (agent.c)
 *   guest peer server|client [OPTIONS]     one end of a DCCP connection (the rest)
 *
 * A peer prints one JSON line when something happened that others wait for, and one when it
 * ends; its exit status is 0 if it did what was asked, 1 if not, 2 for wrong options. The
 * options are listed in options.c and explained in ../README.md.
 */
#include "peer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One connection, from open to closed. */
static bool serve(int fd, const struct options *options, struct result *result)
{
    result->opened = true;
    sock_describe(fd, result);
    report_event(options->server ? "accepted" : "connected");
    if (options->task == TASK_PERF)
        options->server ? perf_server(fd, options, result) : perf_client(fd, options, result);
    else
        traffic_run(fd, options, result);
    if (result->error == 0 && close(fd) != 0) {
        result->stage = "close";
        result->error = errno;
    }
    return result->error == 0 && result->note == NULL;
}

static bool finish(const struct options *options, struct result *result, bool good)
{
    report_result(options, result);
    account_free(&result->account);
    return good;
}

static void fresh(struct result *result)
{
    memset(result, 0, sizeof *result);
    result->ccid_tx = result->ccid_rx = -1;
    result->stage = "socket";
    if (!account_init(&result->account))
        exit(1);
}

static bool client(const struct options *options)
{
    struct result result;
    fresh(&result);
    int fd = sock_open(options, &result);
    return finish(options, &result, fd >= 0 && serve(fd, options, &result));
}

static bool server(const struct options *options)
{
    struct result result;
    fresh(&result);
    int listener = sock_open(options, &result);
    if (listener < 0)
        return finish(options, &result, false);
    report_event("listening");
    if (options->hold) {
        sleep((unsigned)(options->seconds + 0.5));
        return finish(options, &result, true);
    }
    bool good = true;
    for (unsigned served = 0; good && served < options->connections; served++) {
        if (served > 0)
            fresh(&result);
        result.stage = "accept";
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            result.error = errno;
        bool served_well = fd >= 0 && serve(fd, options, &result);
        good = finish(options, &result, served_well) || (options->tolerant && fd >= 0);
    }
    return good;
}

static int peer(int argc, char **argv)
{
    struct options options;
    if (!options_parse(&options, argc, argv))
        return 2;
    signal(SIGPIPE, SIG_IGN);
    alarm(options.limit); /* Nothing here may outlive its cell. */
    return (options.server ? server(&options) : client(&options)) ? 0 : 1;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 3 && strcmp(argv[1], "agent") == 0)
        return agent(argv[2]);
    if (argc >= 3 && strcmp(argv[1], "peer") == 0)
        return peer(argc - 2, argv + 2);
    fprintf(stderr, "usage: guest agent DEVICE | guest peer server|client ...\n");
    return 2;
}
