/* What a connection does: echo, bulk one way, or nothing; and who closes it. */
#include "peer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* CCID figures are taken this often. */
static const uint64_t SAMPLE_NS = 100000000;
/* An echo may take this long, with the request lost on a slow machine included. */
static const double ECHO_PATIENCE = 2.0;
/* A source that fell behind catches up on no more than this. */
static const uint64_t BURST_NS = 50000000;

static void nap_ms(long ms)
{
    struct timespec pause = { 0, ms * 1000000 };
    nanosleep(&pause, NULL);
}

static double since(uint64_t start)
{
    return (double)(now_ns() - start) / 1e9;
}

static bool failed(struct result *result, const char *stage)
{
    result->stage = stage;
    result->error = errno;
    return false;
}

/* One message, the peer's close, or nothing within the time. */
enum turn traffic_wait(int fd, uint8_t *buffer, size_t *len, double seconds, struct result *result)
{
    struct pollfd wanted = { .fd = fd, .events = POLLIN };
    int ready = poll(&wanted, 1, seconds > 0 ? (int)(seconds * 1000) + 1 : 0);
    if (ready < 0 && errno != EINTR) {
        failed(result, "poll");
        return TURN_FAILED;
    }
    if (ready <= 0)
        return TURN_NOTHING;
    ssize_t got = recv(fd, buffer, MAX_MESSAGE, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return TURN_NOTHING;
    if (got < 0) {
        failed(result, "recv");
        return TURN_FAILED;
    }
    if (got == 0) {
        result->peer_closed = true;
        return TURN_CLOSED;
    }
    *len = (size_t)got;
    return TURN_MESSAGE;
}

/* Sends as soon as the queue has room. A full one says EAGAIN and POLLOUT does not follow it, so
 * this asks every millisecond, for five seconds. */
bool traffic_send(int fd, const uint8_t *message, size_t len, struct result *result)
{
    for (int tries = 0; tries < 5000; tries++) {
        if (send(fd, message, len, MSG_DONTWAIT) >= 0)
            return true;
        if (errno != EAGAIN && errno != EINTR)
            return failed(result, "send");
        result->refused++;
        nap_ms(1);
    }
    result->note = "the send queue stayed full for 5 s";
    return false;
}

/* Sends --count messages one by one, each when the one before came back. */
static void echo_client(int fd, const struct options *options, struct result *result)
{
    uint8_t out[MAX_MESSAGE] = { 0 }, in[MAX_MESSAGE];
    size_t size = options->size < DATA_HEADER ? DATA_HEADER : options->size;
    uint64_t wanted = options->count ? options->count : 10;
    for (uint64_t number = 0; number < wanted; number++) {
        message_data(out, number);
        if (!traffic_send(fd, out, size, result))
            return;
        result->sent++;
        result->sent_bytes += size;
        uint64_t start = now_ns();
        bool back = false;
        while (!back && since(start) < ECHO_PATIENCE) {
            size_t len = 0;
            enum turn turn = traffic_wait(fd, in, &len, ECHO_PATIENCE - since(start), result);
            if (turn == TURN_CLOSED || turn == TURN_FAILED)
                return;
            if (turn == TURN_MESSAGE) {
                account_take(&result->account, in, len);
                back = len == size && memcmp(in, out, len) == 0;
            }
        }
    }
}

static void echo_server(int fd, const struct options *options, struct result *result)
{
    uint8_t buffer[MAX_MESSAGE];
    (void)options;
    for (;;) {
        size_t len = 0;
        enum turn turn = traffic_wait(fd, buffer, &len, 1.0, result);
        if (turn == TURN_CLOSED || turn == TURN_FAILED)
            return;
        if (turn != TURN_MESSAGE)
            continue;
        account_take(&result->account, buffer, len);
        if (!traffic_send(fd, buffer, len, result))
            return;
        result->sent++;
        result->sent_bytes += len;
    }
}

/* Sends numbered messages until the time or the count is reached. */
void traffic_bulk(int fd, const struct options *options, struct result *result)
{
    uint8_t out[MAX_MESSAGE] = { 0 }, in[MAX_MESSAGE];
    size_t size = options->size < DATA_HEADER ? DATA_HEADER : options->size;
    uint64_t start = now_ns(), due = start, sample_at = start + (uint64_t)(options->settle * 1e9);
    uint64_t gap = options->rate ? size * 8000000000ull / options->rate : 0;
    while ((options->count == 0 || result->sent < options->count)
        && (options->seconds == 0 || since(start) < options->seconds)) {
        uint64_t now = now_ns();
        size_t len;
        if (now >= sample_at) {
            sock_sample(fd, result);
            sample_at = now + SAMPLE_NS;
        }
        enum turn turn = traffic_wait(fd, in, &len, 0, result);
        if (turn == TURN_CLOSED || turn == TURN_FAILED)
            break;
        if (now < due) {
            nap_ms(1);
            continue;
        }
        message_data(out, result->sent);
        if (send(fd, out, size, MSG_DONTWAIT) >= 0) {
            result->sent++;
            result->sent_bytes += size;
            due = (due + BURST_NS < now ? now - BURST_NS : due) + gap;
        } else if (errno == EAGAIN || errno == EINTR) {
            result->refused++;
            nap_ms(1);
        } else {
            failed(result, "send");
            break;
        }
    }
    result->seconds = since(start);
}

/* Counts what comes until the peer closes, or the time or the count is reached. */
static void receive(int fd, const struct options *options, struct result *result)
{
    uint8_t buffer[MAX_MESSAGE];
    uint64_t start = now_ns(), sample_at = start + (uint64_t)(options->settle * 1e9);
    while ((options->count == 0 || result->account.received < options->count)
        && (options->seconds == 0 || since(start) < options->seconds)) {
        size_t len = 0;
        if (now_ns() >= sample_at) {
            sock_sample(fd, result);
            sample_at = now_ns() + SAMPLE_NS;
        }
        enum turn turn = traffic_wait(fd, buffer, &len, 0.05, result);
        if (turn == TURN_CLOSED || turn == TURN_FAILED)
            break;
        if (turn == TURN_MESSAGE)
            account_take(&result->account, buffer, len);
    }
    result->seconds = (double)(result->account.last_ns - result->account.first_ns) / 1e9;
}

static void wait_for_close(int fd, struct result *result)
{
    uint8_t buffer[MAX_MESSAGE];
    size_t len = 0;
    enum turn turn = TURN_NOTHING;
    while (turn != TURN_CLOSED && turn != TURN_FAILED) {
        turn = traffic_wait(fd, buffer, &len, 1.0, result);
        if (turn == TURN_MESSAGE)
            account_take(&result->account, buffer, len);
    }
}

/* The task, then the close that was asked for; the caller closes the socket. */
void traffic_run(int fd, const struct options *options, struct result *result)
{
    result->stage = "traffic";
    switch (options->task) {
    case TASK_ECHO:
        options->server ? echo_server(fd, options, result) : echo_client(fd, options, result);
        break;
    case TASK_SEND: traffic_bulk(fd, options, result); break;
    case TASK_RECV: receive(fd, options, result); break;
    default: usleep((useconds_t)(options->seconds * 1e6));
    }
    if (result->error != 0 || result->note != NULL)
        return;
    if (options->close_first && result->peer_closed && options->task != TASK_RECV
        && !(options->task == TASK_ECHO && options->server))
        result->note = "the peer closed before we were done";
    else if (!options->close_first && !result->peer_closed)
        wait_for_close(fd, result);
    if (result->error == 0)
        result->stage = "done";
}
