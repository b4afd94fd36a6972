/* What the files of the guest program share. `main.c` is the map. */
#ifndef PEER_H
#define PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { MAX_LIST = 16, MAX_MESSAGE = 4096, DATA_HEADER = 20 };

/* What a connection does once it is open. */
enum task { TASK_IDLE, TASK_ECHO, TASK_SEND, TASK_RECV, TASK_PERF };

/* A feature's preference list, best first; empty leaves the kernel's default. */
struct preferences {
    uint8_t ccid[MAX_LIST];
    size_t len;
};

struct options {
    bool server;
    struct sockaddr_storage address;
    socklen_t address_len;
    uint16_t local_port; /* client: 0 takes any */
    uint32_t services[MAX_LIST]; /* network order */
    size_t service_count;
    struct preferences both, tx, rx;
    enum task task;
    double seconds; /* of sending, or of waiting; 0: no limit of its own */
    uint64_t count; /* messages; 0: no limit of its own */
    size_t size; /* bytes per message */
    uint64_t rate; /* bits per second; 0: as fast as allowed */
    bool close_first; /* else wait for the peer's close */
    bool reverse; /* perf client: let the server send */
    int backlog;
    bool hold; /* listen, accept nobody */
    unsigned connections; /* serve so many, one after the other */
    bool tolerant; /* go on after a connection that failed */
    double settle; /* seconds before CCID figures are sampled */
    unsigned limit; /* seconds for everything */
};

/* Numbers that came in: each message carries one, counted from zero by its sender. */
struct account {
    uint64_t received, bytes, distinct, highest_plus_one, reordered, duplicates, foreign;
    uint8_t *seen; /* one bit each */
    uint64_t first_ns, last_ns;
    double jitter_ms;
    int64_t last_transit_ns;
};

/* Means over samples of the CCID's own figures, and the last sample. */
struct mean {
    double sum, last;
    uint64_t samples;
};

struct figures {
    struct mean x, x_recv, p, rtt; /* bytes/s, bytes/s, 1, s */
};

struct result {
    const char *stage; /* where it ended */
    int error; /* errno, 0 if none */
    const char *note; /* in words, if errno cannot say it */
    bool opened;
    bool peer_closed;
    int ccid_tx, ccid_rx; /* -1: not known */
    int mps; /* longest message, bytes */
    uint64_t sent, sent_bytes, refused; /* refused: EAGAIN, the queue was full */
    double seconds; /* of sending or receiving */
    struct account account;
    struct figures tx, rx;
};

/* options.c */
bool options_parse(struct options *options, int argc, char **argv);

/* sock.c */
int sock_open(const struct options *options, struct result *result);
void sock_describe(int fd, struct result *result);
void sock_sample(int fd, struct result *result);

/* account.c */
bool account_init(struct account *account);
void account_take(struct account *account, const uint8_t *message, size_t len);
void account_free(struct account *account);

/* message.c */
void message_data(uint8_t *out, uint64_t number);
bool message_is(const uint8_t *message, size_t len, char letter);

/* traffic.c */
enum turn { TURN_NOTHING, TURN_MESSAGE, TURN_CLOSED, TURN_FAILED };
enum turn traffic_wait(int fd, uint8_t *buffer, size_t *len, double seconds, struct result *result);
bool traffic_send(int fd, const uint8_t *message, size_t len, struct result *result);
void traffic_run(int fd, const struct options *options, struct result *result);
void traffic_bulk(int fd, const struct options *options, struct result *result);

/* perf.c */
void perf_client(int fd, const struct options *options, struct result *result);
void perf_server(int fd, const struct options *options, struct result *result);

/* report.c */
uint64_t now_ns(void);
void report_event(const char *event);
void report_result(const struct options *options, const struct result *result);

/* agent.c */
int agent(const char *device);

#endif
