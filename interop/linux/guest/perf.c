/* `fairwire perf` spoken over a kernel socket: parameters ahead of the data, reports behind them,
 * each repeated until it is answered. Only what one flow without a file needs. */
#include "peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double REPEAT = 0.2; /* seconds */
enum { REPEATS = 50 };

static bool say(int fd, char letter, const char *json, struct result *result)
{
    char out[MAX_MESSAGE];
    int len = snprintf(out, sizeof out, "FwP%c%s", letter, json);
    return len < (int)sizeof out && traffic_send(fd, (const uint8_t *)out, (size_t)len, result);
}

/* Says it until `answer` comes; what else arrives is counted. */
static bool ask(int fd, char letter, const char *json, const char *answers, struct result *result)
{
    uint8_t in[MAX_MESSAGE];
    for (int i = 0; i < REPEATS; i++) {
        size_t len = 0;
        if (!say(fd, letter, json, result))
            return false;
        enum turn turn = traffic_wait(fd, in, &len, REPEAT, result);
        for (; turn == TURN_MESSAGE; turn = traffic_wait(fd, in, &len, REPEAT, result)) {
            if (message_is(in, len, 'D'))
                account_take(&result->account, in, len);
            if (len >= 4 && memcmp(in, "FwP", 3) == 0 && strchr(answers, in[3]))
                return true;
        }
        if (turn == TURN_FAILED)
            return false;
        if (turn == TURN_CLOSED)
            break;
    }
    result->note = "no answer to a message of perf";
    return false;
}

static void send_flow(int fd, const struct options *options, struct result *result)
{
    char json[512];
    traffic_bulk(fd, options, result);
    if (result->error != 0 || result->peer_closed)
        return;
    double rate = result->seconds > 0 ? (double)result->sent_bytes * 8 / result->seconds : 0;
    snprintf(json, sizeof json,
        "{\"datagrams\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"seconds\":%f,\"bits_per_second\":%f}",
        result->sent, result->sent_bytes, result->seconds, rate);
    if (ask(fd, 'F', json, "R", result) && say(fd, 'E', "", result))
        result->stage = "done";
}

static void tell(int fd, struct result *result)
{
    char json[512];
    const struct account *account = &result->account;
    uint64_t lost = account->highest_plus_one - account->distinct;
    double seconds = (double)(account->last_ns - account->first_ns) / 1e9;
    result->seconds = seconds;
    snprintf(json, sizeof json,
        "{\"datagrams\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"seconds\":%f,\"bits_per_second\":%f,"
        "\"lost\":%" PRIu64 ",\"reordered\":%" PRIu64 ",\"duplicates\":%" PRIu64
        ",\"marked\":0,\"jitter_ms\":%f,\"dropped_here\":0}",
        account->distinct, account->bytes, seconds,
        seconds > 0 ? (double)account->bytes * 8 / seconds : 0, lost, account->reordered,
        account->duplicates, account->jitter_ms);
    /* A sender that has the report may be gone before its "done" is here. */
    if (ask(fd, 'R', json, "E", result) || result->peer_closed) {
        result->note = NULL;
        result->stage = "done";
    }
}

/* Counts data until the sender says that it was all. */
static void receive_flow(int fd, const struct options *options, struct result *result)
{
    uint8_t in[MAX_MESSAGE];
    uint64_t sample_at = now_ns() + (uint64_t)(options->settle * 1e9);
    for (;;) {
        size_t len = 0;
        if (now_ns() >= sample_at) {
            sock_sample(fd, result);
            sample_at = now_ns() + 100000000;
        }
        enum turn turn = traffic_wait(fd, in, &len, 0.05, result);
        if (turn == TURN_FAILED)
            return;
        if (turn == TURN_CLOSED) {
            result->note = "the sender closed before it said that all was sent";
            return;
        }
        if (turn != TURN_MESSAGE)
            continue;
        if (message_is(in, len, 'F')) {
            tell(fd, result);
            return;
        }
        if (message_is(in, len, 'P') && !say(fd, 'Y', "", result))
            return; /* Our answer was lost. */
        if (message_is(in, len, 'D'))
            account_take(&result->account, in, len);
    }
}

void perf_client(int fd, const struct options *options, struct result *result)
{
    char json[512];
    result->stage = "perf";
    snprintf(json, sizeof json,
        "{\"version\":1,\"test\":%" PRIu64 ",\"flow\":1,\"flows\":1,\"reverse\":%s,\"length\":%zu,"
        "\"rate\":%" PRIu64 ",\"seconds\":%f,\"bytes\":null,\"file_size\":null}",
        now_ns(), options->reverse ? "true" : "false", options->size, options->rate, options->seconds);
    if (!ask(fd, 'P', json, options->reverse ? "YDF" : "Y", result))
        return;
    options->reverse ? receive_flow(fd, options, result) : send_flow(fd, options, result);
}

static double field(const char *json, const char *name)
{
    const char *at = strstr(json, name);
    return at ? strtod(at + strlen(name), NULL) : 0;
}

void perf_server(int fd, const struct options *options, struct result *result)
{
    uint8_t in[MAX_MESSAGE + 1];
    size_t len = 0;
    enum turn turn;
    result->stage = "perf";
    do
        turn = traffic_wait(fd, in, &len, 1.0, result);
    while (turn == TURN_NOTHING || (turn == TURN_MESSAGE && !message_is(in, len, 'P')));
    if (turn != TURN_MESSAGE) {
        result->note = "the client never said what it wants";
        return;
    }
    in[len] = '\0';
    const char *json = (const char *)in + 4;
    struct options asked = *options;
    asked.seconds = field(json, "\"seconds\":");
    asked.size = (size_t)field(json, "\"length\":");
    asked.rate = (uint64_t)field(json, "\"rate\":");
    asked.count = asked.size ? (uint64_t)field(json, "\"bytes\":") / asked.size : 0;
    if (asked.size > MAX_MESSAGE)
        asked.size = MAX_MESSAGE;
    if (!say(fd, 'Y', "", result))
        return;
    strstr(json, "\"reverse\":true") ? send_flow(fd, &asked, result) : receive_flow(fd, &asked, result);
}
