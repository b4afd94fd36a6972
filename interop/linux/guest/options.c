/* The options of a peer. Those of the host's peer are the same (../README.md). */
#include "peer.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool usage(const char *what, const char *value)
{
    fprintf(stderr, "guest peer: %s '%s' makes no sense\n", what, value);
    return false;
}

static bool number(const char *text, double least, double most, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= least && *out <= most;
}

/* `A` is an IPv4 or an IPv6 address. */
static bool address(struct options *options, const char *text, uint16_t port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&options->address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&options->address;
    memset(&options->address, 0, sizeof options->address);
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        options->address_len = sizeof *v4;
        return true;
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        options->address_len = sizeof *v6;
        return true;
    }
    return false;
}

/* Comma-separated; each a number, or four characters as in "SC:fdpz". */
static bool services(struct options *options, char *text)
{
    options->service_count = 0;
    for (char *item = strtok(text, ","); item; item = strtok(NULL, ",")) {
        double code;
        if (options->service_count == MAX_LIST)
            return false;
        uint32_t *slot = &options->services[options->service_count++];
        if (strncmp(item, "SC:", 3) == 0 && strlen(item) == 7)
            memcpy(slot, item + 3, 4);
        else if (number(item, 0, 4294967295.0, &code))
            *slot = htonl((uint32_t)code);
        else
            return false;
    }
    return options->service_count > 0;
}

static bool preferences(struct preferences *preferences, char *text)
{
    preferences->len = 0;
    for (char *item = strtok(text, ","); item; item = strtok(NULL, ",")) {
        double ccid;
        if (preferences->len == MAX_LIST || !number(item, 0, 255, &ccid))
            return false;
        preferences->ccid[preferences->len++] = (uint8_t)ccid;
    }
    return preferences->len > 0;
}

static bool task(struct options *options, const char *text)
{
    static const char *const names[] = { "idle", "echo", "send", "recv", "perf" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            options->task = (enum task)i;
            return true;
        }
    return false;
}

static const struct option LONG[] = {
    { "address", required_argument, NULL, 'a' },
    { "port", required_argument, NULL, 'p' },
    { "local-port", required_argument, NULL, 'P' },
    { "service", required_argument, NULL, 's' },
    { "ccid", required_argument, NULL, 'c' },
    { "tx-ccid", required_argument, NULL, 't' },
    { "rx-ccid", required_argument, NULL, 'r' },
    { "task", required_argument, NULL, 'd' },
    { "seconds", required_argument, NULL, 'T' },
    { "count", required_argument, NULL, 'n' },
    { "size", required_argument, NULL, 'l' },
    { "rate", required_argument, NULL, 'b' },
    { "close", required_argument, NULL, 'C' },
    { "reverse", no_argument, NULL, 'R' },
    { "backlog", required_argument, NULL, 'B' },
    { "hold", no_argument, NULL, 'H' },
    { "connections", required_argument, NULL, 'N' },
    { "settle", required_argument, NULL, 'S' },
    { "tolerant", no_argument, NULL, 'O' },
    { "exclusive", no_argument, NULL, 'X' },
    { "limit", required_argument, NULL, 'L' },
    { 0 },
};

static bool one(struct options *options, int letter, char *value, const char **host, double *port)
{
    double n = 0;
    switch (letter) {
    case 'a': *host = value; return true;
    case 'p': return number(value, 1, 65535, port);
    case 'P': return number(value, 1, 65535, &n) && (options->local_port = (uint16_t)n, true);
    case 's': return services(options, value);
    case 'c': return preferences(&options->both, value);
    case 't': return preferences(&options->tx, value);
    case 'r': return preferences(&options->rx, value);
    case 'd': return task(options, value);
    case 'T': return number(value, 0, 3600, &options->seconds);
    case 'n': return number(value, 0, 1e9, &n) && (options->count = (uint64_t)n, true);
    case 'l': return number(value, 0, MAX_MESSAGE, &n) && (options->size = (size_t)n, true);
    case 'b': return number(value, 0, 1e10, &n) && (options->rate = (uint64_t)n, true);
    case 'C':
        options->close_first = strcmp(value, "us") == 0;
        return options->close_first || strcmp(value, "peer") == 0;
    case 'R': return options->reverse = true;
    case 'B': return number(value, 0, 128, &n) && (options->backlog = (int)n, true);
    case 'H': return options->hold = true;
    case 'N': return number(value, 1, 1000, &n) && (options->connections = (unsigned)n, true);
    case 'O': return options->tolerant = true;
    case 'X': return true; /* The kernel owns every port anyway. */
    case 'S': return number(value, 0, 3600, &options->settle);
    case 'L': return number(value, 1, 3600, &n) && (options->limit = (unsigned)n, true);
    default: return false;
    }
}

bool options_parse(struct options *options, int argc, char **argv)
{
    const char *host = "0.0.0.0";
    double port = 5001;
    memset(options, 0, sizeof *options);
    options->services[0] = htonl(42);
    options->service_count = 1;
    options->size = 1000;
    options->close_first = true;
    options->backlog = 8;
    options->connections = 1;
    options->limit = 60;
    options->server = strcmp(argv[0], "server") == 0;
    if (!options->server && strcmp(argv[0], "client") != 0)
        return usage("role", argv[0]);
    for (int letter; (letter = getopt_long(argc, argv, "", LONG, NULL)) != -1;)
        if (!one(options, letter, optarg, &host, &port))
            return usage("option", argv[optind - 1]);
    if (optind < argc)
        return usage("argument", argv[optind]);
    return address(options, host, (uint16_t)port) || usage("address", host);
}
