/* What a peer prints: one JSON object per line. */
#include "peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void report_event(const char *event)
{
    printf("{\"event\":\"%s\"}\n", event);
}

static void text(const char *name, const char *value)
{
    value ? printf("\"%s\":\"%s\",", name, value) : printf("\"%s\":null,", name);
}

static double average(const struct mean *mean)
{
    return mean->samples ? mean->sum / (double)mean->samples : 0.0;
}

static void figures(const char *name, const struct figures *figures, const char *end)
{
    printf("\"%s\":{\"samples\":%" PRIu64 ",\"x\":%.1f,\"x_recv\":%.1f,\"p\":%.6f,\"rtt\":%.6f,"
           "\"last\":{\"x\":%.1f,\"x_recv\":%.1f,\"p\":%.6f,\"rtt\":%.6f}}%s",
        name, figures->p.samples, average(&figures->x), average(&figures->x_recv), average(&figures->p),
        average(&figures->rtt), figures->x.last, figures->x_recv.last, figures->p.last,
        figures->rtt.last, end);
}

void report_result(const struct options *options, const struct result *result)
{
    const struct account *account = &result->account;
    printf("{\"event\":\"result\",\"role\":\"%s\",", options->server ? "server" : "client");
    text("stage", result->stage);
    text("error", result->error ? strerrorname_np(result->error) : NULL);
    text("note", result->note);
    printf("\"opened\":%s,\"peer_closed\":%s,\"ccid_tx\":%d,\"ccid_rx\":%d,\"mps\":%d,",
        result->opened ? "true" : "false", result->peer_closed ? "true" : "false", result->ccid_tx,
        result->ccid_rx, result->mps);
    printf("\"sent\":%" PRIu64 ",\"sent_bytes\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"seconds\":%.6f,",
        result->sent, result->sent_bytes, result->refused, result->seconds);
    printf("\"received\":%" PRIu64 ",\"received_bytes\":%" PRIu64 ",\"distinct\":%" PRIu64
           ",\"missing\":%" PRIu64 ",\"reordered\":%" PRIu64 ",\"duplicates\":%" PRIu64
           ",\"foreign\":%" PRIu64 ",\"jitter_ms\":%.3f,",
        account->received, account->bytes, account->distinct,
        account->highest_plus_one - account->distinct, account->reordered, account->duplicates,
        account->foreign, account->jitter_ms);
    figures("tx", &result->tx, ",");
    figures("rx", &result->rx, "}\n");
}
