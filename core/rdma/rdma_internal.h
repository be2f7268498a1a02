/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of the queue-pair engines. Guarded by Mlx5Card.lock.
 *
 * A queue pair has two machines that know nothing of each other and talk to
 * the peer's in packets:
 *
 *   requester  req*.c   send queue --> requests;  responses --> completions
 *   responder  resp*.c  requests --> memory, receive completions, responses
 *
 * They touch in one place: a rendezvous of tag matching that the responder
 * received is read by the requester (tm_rndv.c).
 *
 * Sending a packet may run the peer's responder, and through its answer our
 * own response handler, before the call returns. A response handler therefore
 * never sends: it changes state and schedules the requester's work. That bounds
 * the depth: work, link, responder, link, response handler; a CNP (cnp.c) may be
 * sent by each of these, and whoever gets it sends nothing. After a send the
 * caller trusts nothing it remembered about its own state.
 */
#ifndef MLX5_RDMA_INTERNAL_H
#define MLX5_RDMA_INTERNAL_H

#include "bus/trace.h"
#include "prm/prm.h"
#include "rdma/cqe.h"
#include "rdma/rdma.h"
#include "rdma/recv.h"
#include "rdma/tm.h"
#include "rdma/wqe.h"

/** Work requests between fetch and completion; a power of two. */
#define MLX5_REQ_WINDOW 64u
/** Reads and atomics a responder owes an answer to, and acks between them. */
#define MLX5_RESP_QUEUE 64u
/** Atomic results kept for duplicates (IBA 9.4.5: as many as it accepts). */
#define MLX5_RESP_ATOMICS 16u

/** A work request between fetch and completion. */
typedef struct Mlx5SendReq {
    uint32_t psn, npsn;      /* sequence numbers it uses; 0 if local */
    uint32_t dc_conn;        /* DC: its connection; 0 before it was sent */
    bool response;           /* done by data, not by an ack */
    bool begun;              /* something of it was sent */
    bool done;               /* completes when all before it have */
    uint8_t cqe_bytes;       /* of its answer, in the completion */
    uint8_t vendor;          /* Mlx5Vendor: why it failed; 0 = it did not */
    Mlx5ReqKind kind;        /* the guest's, or of a rendezvous ... */
    uint32_t tag;            /* ... for this tag */
    /* From here on not cleared for each. */
    uint8_t cqe_data[MLX5_CQE_DATA_MAX];
    struct Mlx5SendReq *next_spare;
    Mlx5SendWqe wqe;         /* who fetches clears it */
} Mlx5SendReq;

/**
 * The send queue's side. The window holds work requests head..tail; those
 * before cur are sent whole, of cur's the first cur_off bytes are.
 *
 *      head        cur         tail
 *       |  sent     |  to send  |      free-running, modulo the window
 */
typedef struct Mlx5Requester {
    Mlx5Work work;
    Mlx5Timer timer;         /* retransmission, or the wait after RNR */
    uint16_t posted;         /* basic blocks, as the record last said */
    uint16_t fetched;        /* basic blocks */
    uint32_t head, cur, tail;
    Mlx5SendReq **window;    /* made at the first doorbell */
    uint64_t cur_off;
    uint32_t next_psn;       /* of the next work request fetched */
    uint32_t una;            /* oldest sequence number not answered */
    uint32_t responses;      /* reads and atomics sent and not answered */
    uint32_t ssn;            /* messages sent */
    uint8_t retries;         /* left */
    uint8_t rnr_retries;     /* left; 7 = no limit */
    bool rnr_wait;           /* the timer runs for RNR */
    bool progress;           /* something was answered since the timer began */
    bool expired;            /* the timer fired; decided in the work item */
    bool wire;               /* what was sent last left the card */
    bool gap;                /* an answer is missing, and was asked for again */
    bool stalled;            /* a failed request waits to complete */
    bool nop_silent;         /* the last one completed was a NOP without CQE */
    uint16_t nop_index;      /* of that */
    bool drained;            /* SQD: the event was raised */
    uint32_t rndv_count;     /* rendezvous that wait, in their tags ... */
    uint32_t rndv_first, rndv_last; /* ... from here to there */
    bool draining;           /* a signature failed: on the way to SQD */
    uint64_t errored_streams; /* DC initiator: channels that stand still */
} Mlx5Requester;

/** An answer owed, in order of the requests. */
typedef struct Mlx5RespItem {
    Mlx5PktOp op;            /* READ_RESP, ACK or ATOMIC_ACK */
    uint32_t psn, npsn;
    uint32_t msn;
    uint8_t syndrome;        /* of an ACK */
    Mlx5PktPaging paging;    /* of an RNR NAK */
    bool again;              /* READ_RESP: asked for once more */
    bool fatal;              /* once sent, the queue pair goes to ERR ... */
    uint8_t event;           /* ... and raises this, if not 0 */
    uint32_t rkey, pdn;      /* READ_RESP: and the domain it is used in */
    uint64_t va, len, sent;
    uint64_t value;          /* ATOMIC_ACK */
} Mlx5RespItem;

/** What an atomic found, for who asks again. */
typedef struct Mlx5AtomicResult {
    uint32_t psn;
    bool valid;
    uint64_t value;
} Mlx5AtomicResult;

typedef struct Mlx5Responder {
    Mlx5Work work;           /* sends what the queue holds */
    uint32_t epsn;           /* expected next */
    uint32_t msn;            /* messages completed */
    uint32_t pdn;            /* domain of the request being executed */
    uint32_t dc_conn;        /* DC target: of the message, else 0 */
    /* The message being received. */
    bool busy;
    bool wire;               /* what was answered last left the card */
    Mlx5PktOp busy_op;       /* SEND or WRITE */
    uint64_t off;            /* bytes received of it */
    uint64_t va, total;      /* WRITE: from the RETH */
    uint32_t rkey;
    Mlx5TmMsg tm;            /* SEND to a tag-matching XRQ */
    bool have_recv;          /* recv was consumed and not completed */
    Mlx5RecvWqe *recv;       /* made at the first receive */
    uint8_t cqe_bytes;       /* of its payload, in the completion */
    uint8_t *cqe_data;       /* MLX5_CQE_DATA_MAX, made at the first ones */
    bool ack_owed;           /* messages were accepted, up to this: */
    uint32_t owed_psn, owed_msn;
    bool nak_sent;           /* silent until the expected one comes */
    bool rnr_sent;           /* ... because nothing was posted for it */
    bool dying;              /* a fatal NAK is on its way out */
    bool page_failed;        /* no page can be had for the expected one */
    bool established;        /* COMM_EST was raised, or is moot */
    Mlx5RespItem *queue;     /* made at the first item that waits */
    uint32_t head, tail;
    uint32_t pending;        /* reads in the queue ... */
    uint32_t again;          /* ... those asked for once more among them */
    Mlx5AtomicResult *atomics; /* MLX5_RESP_ATOMICS, made at the first one */
    uint32_t next_atomic;
} Mlx5Responder;

/** Completing what is posted on a queue pair in error. */
typedef struct Mlx5Flush {
    Mlx5Work work;
    Mlx5Timer timer;         /* looks for receives posted later */
    int64_t since_ns;        /* of the last one found */
    bool last_wqe_raised;
} Mlx5Flush;

/** Where a queue pair can stop for a page that is not present (odp.c). */
typedef enum Mlx5FaultPlace {
    MLX5_FAULT_GATHER,       /* requester: what a request sends */
    MLX5_FAULT_SCATTER,      /* requester: where a read or atomic returns to */
    MLX5_FAULT_REQUEST,      /* responder: what a request writes to or changes */
    MLX5_FAULT_READ,         /* responder: what a read asks for */
    MLX5_FAULT_PLACES
} Mlx5FaultPlace;

/** A page fault that was told to the driver and waits for its answer. */
typedef struct Mlx5Fault {
    Mlx5QpEngine *e;
    Mlx5FaultPlace place;
    uint32_t token;          /* 0 = none waits here */
    uint32_t wq;             /* what the resume must name */
    uint8_t type;            /* page_fault_type */
    uint8_t naks;            /* how often the peer was put off */
    uint32_t at;             /* requester: place in the window */
} Mlx5Fault;

struct Mlx5QpEngine {
    Mlx5Qp *qp;
    Mlx5Requester req;
    Mlx5Responder resp;
    Mlx5Flush flush;
    Mlx5Fault *faults;       /* MLX5_FAULT_PLACES, made at the first one */
    int64_t cnp_ns;          /* no CNP before then */
    struct Mlx5PathHeader *header; /* made at the first packet (path.c) */
};

/** Which queue the last doorbell in half a BlueFlame register named. */
typedef struct Mlx5BfHalf {
    uint32_t uar, at, qpn;
} Mlx5BfHalf;

/** As many are remembered; forgetting one costs the self test a NOP. */
#define MLX5_BF_HALVES 64u

struct Mlx5Rdma {
    Mlx5LinkSend link;
    Mlx5SqDoorbell sq_doorbell;
    GPtrArray *gsi;          /* Mlx5Qp *: QP1s, the newest last */
    Mlx5Ranges *local;       /* scratch: our side of a copy */
    Mlx5Ranges *remote;      /* scratch: ranges in a packet */
    uint8_t *flat;           /* gathered bytes when inline is mixed in */
    Mlx5SendReq *spare_reqs; /* in no window now, linked */
    uint32_t num_spare_reqs;
    Mlx5WqeAhead ahead;      /* of the send queue whose turn it is */
    GHashTable *wire_waiters; /* Mlx5QpEngine *: set of those that wait */
    GPtrArray *sig_failed;   /* Mlx5Mkey *: errors to report, for a moment */
    Mlx5BfHalf halves[MLX5_BF_HALVES];
    uint64_t moved;          /* payload bytes, ever; for budgets */
    uint64_t part;           /* payload bytes before the page that was missed */
    GHashTable *faults;      /* token -> Mlx5Fault * that waits */
    GHashTable *ended;       /* tokens cancelled and not yet resumed ... */
    GQueue ended_order;      /* ... the oldest first */
    uint32_t last_token;
    GQueue dcrs;             /* peers of DC targets, the oldest first */
    uint32_t dc_conns;       /* the last connection of a DC initiator */
};

/** What is known of the fault that waits, or waited, at @place. */
static inline Mlx5Fault *mlx5_odp_fault(Mlx5QpEngine *e, Mlx5FaultPlace place)
{
    if (!e->faults) {
        e->faults = g_new0(Mlx5Fault, MLX5_FAULT_PLACES);
    }
    return &e->faults[place];
}

/** Does a fault wait at @place? */
static inline bool mlx5_odp_waits(const Mlx5QpEngine *e, Mlx5FaultPlace place)
{
    return e->faults && e->faults[place].token;
}

/** Return: whether a rendezvous waits for its turn (tm_rndv.c). */
static inline bool mlx5_tm_rndv_waiting(const Mlx5QpEngine *e)
{
    return e->req.rndv_count;
}

/* engine.c */
static inline Mlx5Rdma *mlx5_engine_rdma(Mlx5Qp *qp)
{
    return qp->o.func->rdma;
}
/** The path's MTU, in bytes. */
static inline uint32_t mlx5_engine_mtu(const Mlx5Qp *qp)
{
    return qp->mtu_bytes;
}
/** The longest datagram that the port carries, in bytes. */
uint32_t mlx5_engine_port_mtu(Mlx5Func *func);
extern const uint8_t mlx5_engine_svcs[256];
/** The service of the QP's packets. */
static inline Mlx5PktService mlx5_engine_svc(const Mlx5Qp *qp)
{
    return mlx5_engine_svcs[(uint8_t)qp->st];
}
/** The number the QP has in packets: QP1's is 1. */
uint32_t mlx5_engine_wire_qpn(const Mlx5Qp *qp);
/** Send on the link, with trace. */
void mlx5_engine_send(Mlx5Qp *qp, Mlx5Pkt *pkt);
/** Count a good packet that nobody takes: number, service, state, sender. */
void mlx5_engine_refuse(Mlx5Func *func, const Mlx5Pkt *pkt);
/** Count one @event in the counter set of @qp, if it names one. */
#define mlx5_engine_count(qp, event) \
    mlx5_q_counter_add((qp)->o.func, mlx5_qp_counter(qp), event)
static inline Mlx5MkeyUser mlx5_engine_user(const Mlx5Qp *qp)
{
    return (Mlx5MkeyUser){ .pdn = mlx5_qp_pdn(qp), .qpn = qp->o.id,
                           .rlkey = qp->rlkey };
}
/** Make and unmake the engine of a queue pair. */
void mlx5_engine_make(Mlx5Qp *qp);
void mlx5_engine_unmake(Mlx5Qp *qp);
/** Schedule @work so that somebody runs it soon, whoever is the caller. */
void mlx5_engine_schedule(Mlx5Qp *qp, Mlx5Work *work);

/* wire_wait.c */
/** Must the work of @e wait for the wire? It is scheduled when that is ready. */
bool mlx5_engine_wire_busy(Mlx5QpEngine *e);
/** Schedule the work of all that wait. */
void mlx5_engine_wire_go_on(Mlx5Func *func);

/* doorbell.c */
void mlx5_sq_doorbell(Mlx5Func *func, uint32_t uar, uint32_t offset,
                      uint64_t value, unsigned size);

/* payload.c */
/** Do the keys of @wqe's pieces allow @access, over their whole length? */
bool mlx5_payload_check(Mlx5Qp *qp, const Mlx5SendWqe *wqe, uint32_t access);
typedef enum Mlx5Payload {
    MLX5_PAYLOAD_OK,
    MLX5_PAYLOAD_KEY,        /* a key refuses */
    MLX5_PAYLOAD_MEMORY,     /* memory is not there */
    MLX5_PAYLOAD_FAULT,      /* a page is not present; it may come */
} Mlx5Payload;
/** What a key's answer means for payload. */
static inline Mlx5Payload mlx5_payload_from_key(Mlx5MkeyResult result)
{
    return result == MLX5_MKEY_OK      ? MLX5_PAYLOAD_OK
           : result == MLX5_MKEY_FAULT ? MLX5_PAYLOAD_FAULT
                                       : MLX5_PAYLOAD_KEY;
}
/** Bytes in @ranges, in whole packets of @mtu: what may go before a fault. */
uint64_t mlx5_payload_part(const Mlx5Ranges *ranges, uint32_t mtu);
/**
 * Point @pkt at bytes [@off, @off + @len) that @wqe gathers. After a fault
 * @pkt->len is what can go before it, in whole packets: often 0.
 */
Mlx5Payload mlx5_payload_gather(Mlx5Qp *qp, const Mlx5SendWqe *wqe,
                                uint64_t off, uint64_t len, Mlx5Pkt *pkt);
/**
 * Copy the payload of @pkt to byte @off and on of what @data scatters, by the
 * rights of @user. A fault leaves Mlx5Rdma.part bytes copied, in whole packets;
 * so does mlx5_payload_write().
 */
Mlx5Payload mlx5_payload_scatter(Mlx5Func *func, const Mlx5MkeyUser *user,
                                 const Mlx5WqeData *data, uint32_t num,
                                 uint64_t off, const Mlx5Pkt *pkt);
/** Copy the payload of @pkt to @va under @rkey of @e's responder. */
Mlx5Payload mlx5_payload_write(Mlx5QpEngine *e, uint32_t rkey, uint64_t va,
                               const Mlx5Pkt *pkt);

/* cqe_data.c: payload in completions. */
/** May the first @len bytes that @data scatters come in the completion? */
bool mlx5_cqe_data_allowed(Mlx5Func *func, const Mlx5MkeyUser *user,
                           const Mlx5WqeData *data, uint32_t num,
                           uint64_t len);
/** Copy the payload of @pkt. Return: false if memory is not there. */
bool mlx5_cqe_data_read(const Mlx5Pkt *pkt, uint8_t to[MLX5_CQE_DATA_MAX]);

/* sig.c: keys with a signature. */
bool mlx5_sig_in_data(Mlx5Func *func, const Mlx5WqeData *data, uint32_t num);
/** Does one of @data's keys have a signature? */
static inline bool mlx5_sig_any(Mlx5Func *func, const Mlx5WqeData *data,
                                uint32_t num)
{
    return G_UNLIKELY(func->sig_keys) && mlx5_sig_in_data(func, data, num);
}
/** Count what @data describe as the wire does, and correct their sum. */
void mlx5_sig_lengths(Mlx5Func *func, Mlx5WqeData *data, uint32_t num,
                      uint64_t *total);
/** What @len bytes at @va of @mkey put on the wire. */
Mlx5Payload mlx5_sig_read(Mlx5Mkey *mkey, const Mlx5MkeyUser *user,
                          uint64_t va, uint64_t len, uint32_t access,
                          uint8_t *to);
/** Put bytes [@off, @off + @len) of @pkt to @va of @mkey. */
Mlx5Payload mlx5_sig_write(Mlx5Mkey *mkey, const Mlx5MkeyUser *user,
                           uint64_t va, uint32_t access, const Mlx5Pkt *pkt,
                           uint64_t off, uint64_t len);
void mlx5_sig_report_failed(Mlx5QpEngine *e, bool send);
/**
 * After each access to payload: errors it found go into a CQ.
 * @send: what this side's send queue asked for.
 */
static inline void mlx5_sig_report(Mlx5QpEngine *e, bool send)
{
    if (G_UNLIKELY(mlx5_engine_rdma(e->qp)->sig_failed->len)) {
        mlx5_sig_report_failed(e, send);
    }
}
/** Can a draining queue stop before @req? */
static inline bool mlx5_sig_may_stop(const Mlx5SendReq *req)
{
    return !req->begun && req->kind == MLX5_REQ_WQE;
}
/** Instead of sending more: to SQD once everything begun is complete. */
void mlx5_sig_drain(Mlx5QpEngine *e);
/** SET_PSV. Return: false if the queue's domain has no such PSV. */
bool mlx5_sig_set_psv(Mlx5Qp *qp, const Mlx5SendWqe *wqe);

/* path.c */
/** What the packets of a queue pair have alike. */
typedef struct Mlx5PathHeader {
    uint64_t changes;        /* Mlx5Card.path_changes when it was made */
    bool connected;          /* pkt.addr is filled: there is a source GID */
    Mlx5Pkt pkt;             /* its service, numbers, path MTU, addresses */
} Mlx5PathHeader;
void mlx5_path_make_header(Mlx5QpEngine *e);
/** Return: that, as context and RoCE addresses say now. */
static inline const Mlx5PathHeader *mlx5_path_header(Mlx5QpEngine *e)
{
    if (G_UNLIKELY(!e->header || e->header->changes !=
                                     e->qp->o.func->card->path_changes)) {
        mlx5_path_make_header(e);
    }
    return e->header;
}
/** Fill in the addresses of a datagram. Return: false if it has no source. */
bool mlx5_path_datagram(const Mlx5Qp *qp, const Mlx5WqeAv *av, Mlx5Pkt *pkt);
/** The priority of a packet that goes by @addr. */
unsigned mlx5_path_prio(Mlx5Func *func, const Mlx5PktAddr *addr);
/** Did @addr come from the peer of this connected QP? */
bool mlx5_path_from_peer(const Mlx5Qp *qp, const Mlx5PktAddr *addr);

/* req.c */
void mlx5_req_init(Mlx5QpEngine *e);
void mlx5_req_reset(Mlx5QpEngine *e);
void mlx5_req_free(Mlx5QpEngine *e);
/** The QP may send from now on. */
void mlx5_req_start(Mlx5QpEngine *e);
/** Stop: no work, no timer; the window stays for the flush. */
void mlx5_req_stop(Mlx5QpEngine *e);
/** The send doorbell was rung. */
void mlx5_req_doorbell(Mlx5QpEngine *e);
/**
 * The same of a queue without a doorbell record: @counter basic blocks are
 * posted. Ignored unless it is further than known, and inside the queue.
 */
void mlx5_req_posted_to(Mlx5QpEngine *e, uint16_t counter);
/** Read the doorbell record. */
bool mlx5_req_read_posted(Mlx5QpEngine *e);
static inline Mlx5SendReq *mlx5_req_at(const Mlx5Requester *r, uint32_t i)
{
    return r->window[i % MLX5_REQ_WINDOW];
}
/** A work request's first free window slot; NULL if the window is full. */
Mlx5SendReq *mlx5_req_slot(Mlx5QpEngine *e);
/** The request at @i of the window is over; nobody looks at it any more. */
void mlx5_req_slot_done(Mlx5QpEngine *e, uint32_t i);
/** Free those that are in no window. */
void mlx5_req_free_spare(Mlx5Rdma *rdma);

/* req_send.c */
/** Send a piece of the request at cur. Return: false if it has to wait. */
bool mlx5_req_send(Mlx5QpEngine *e);

/** Nothing is sent while a page of ours is missing. */
static inline bool mlx5_req_waits_page(const Mlx5QpEngine *e)
{
    return mlx5_odp_waits(e, MLX5_FAULT_GATHER) ||
           mlx5_odp_waits(e, MLX5_FAULT_SCATTER);
}
/** Pages for what is to be sent came, or are an @error. */
void mlx5_req_gather_resumed(Mlx5QpEngine *e, bool error);

/* req_done.c */
/** Complete finished requests from the head on. */
void mlx5_req_complete(Mlx5QpEngine *e);
/** The last NOP, completed in silence, wants a completion after all. */
void mlx5_req_complete_nop(Mlx5QpEngine *e);
/** This request failed; it completes with @vendor's error in its turn. */
void mlx5_req_fail(Mlx5QpEngine *e, Mlx5SendReq *req, Mlx5Vendor vendor);

/* req_resp.c */
/** A response for @e's requester. Never sends. */
void mlx5_req_receive(Mlx5QpEngine *e, const Mlx5Pkt *pkt);
/** Pages for what was answered came, or are an @error. */
void mlx5_req_scatter_resumed(Mlx5QpEngine *e, bool error);
/** The retransmission timer found no progress. */
void mlx5_req_timeout(Mlx5QpEngine *e);
/** See that the timer runs while answers are outstanding. */
void mlx5_req_watch(Mlx5QpEngine *e);
void mlx5_req_timer_fired(void *opaque);

/* resp.c */
void mlx5_resp_init(Mlx5QpEngine *e);
void mlx5_resp_reset(Mlx5QpEngine *e);
void mlx5_resp_free(Mlx5QpEngine *e);
/** A request for @e's responder (not UD). */
void mlx5_resp_receive(Mlx5QpEngine *e, const Mlx5Pkt *pkt);

/* resp_queue.c: answers, in the order of the requests. */
void mlx5_resp_push(Mlx5QpEngine *e, const Mlx5RespItem *item);
/** Acknowledge up to @psn later. Return: false if that can't wait. */
bool mlx5_resp_owe(Mlx5QpEngine *e, uint32_t psn);
/** Send what is owed, if anything is. */
void mlx5_resp_pay(Mlx5QpEngine *e);
bool mlx5_resp_run(void *opaque, Mlx5Budget *budget);
/** A read was asked again. Return: is the answer still on its way? */
bool mlx5_resp_read_queued(Mlx5QpEngine *e, const Mlx5Pkt *pkt);
/** Tell the peer, ahead of all answers, how a page fault stands. */
void mlx5_resp_tell_paging(Mlx5QpEngine *e, uint32_t psn, Mlx5PktPaging paging);
/** The pages that a read asks for came, or are an @error. */
void mlx5_resp_read_resumed(Mlx5QpEngine *e, bool error);

/* resp_exec.c: what a request does, once its place is right. */
void mlx5_resp_execute(Mlx5QpEngine *e, const Mlx5Pkt *pkt);
/** Refuse @pkt with NAK @syndrome, go to ERR, raise @event if not 0. */
void mlx5_resp_refuse(Mlx5QpEngine *e, const Mlx5Pkt *pkt, uint8_t syndrome,
                      uint8_t event);
/** Whose rights the request being executed has; never the reserved lkey. */
static inline Mlx5MkeyUser mlx5_resp_user(const Mlx5QpEngine *e)
{
    return (Mlx5MkeyUser){ .pdn = e->resp.pdn, .qpn = e->qp->o.id };
}

/** The request expected next waits for a page: put it off. */
void mlx5_resp_put_off(Mlx5QpEngine *e, const Mlx5Pkt *pkt);
/** Pages for the request expected next came, or are an @error. */
void mlx5_resp_request_resumed(Mlx5QpEngine *e, bool error);
/** The request came again, and the pages never will: refuse it. */
void mlx5_resp_page_failed(Mlx5QpEngine *e, const Mlx5Pkt *pkt);
/** The packet was taken: count it, and answer if asked to. */
void mlx5_resp_accept(Mlx5QpEngine *e, const Mlx5Pkt *pkt);
/** Invalidate @rkey for the peer. Return: false if the key refuses. */
bool mlx5_resp_invalidate(Mlx5QpEngine *e, uint32_t rkey);
/** What the completion of the message that ends with @pkt is called. */
Mlx5CqeOpcode mlx5_resp_cqe_opcode(const Mlx5Pkt *pkt);

/** A read that was answered before, or is being answered. */
void mlx5_resp_read_again(Mlx5QpEngine *e, const Mlx5Pkt *pkt);

/* resp_recv.c: receives. */
/** XRC: the queue that @pkt names, or NULL if the domain has none such. */
Mlx5Srq *mlx5_resp_xrc_srq(const Mlx5QpEngine *e, const Mlx5Pkt *pkt);
typedef enum Mlx5RespRecv {
    MLX5_RESP_RECV_OK,
    MLX5_RESP_RECV_NONE,     /* nothing posted */
    MLX5_RESP_RECV_INVALID,  /* XRC: no such queue in the domain */
    MLX5_RESP_RECV_BROKEN,   /* the queue itself is */
} Mlx5RespRecv;
Mlx5RespRecv mlx5_resp_take_recv(Mlx5QpEngine *e, const Mlx5Pkt *pkt);
/** Forget the receive in hand if its shared queue was destroyed. */
void mlx5_resp_check_recv(Mlx5QpEngine *e);
/** Copy the payload of @pkt to byte @off and on of the receive in hand. */
Mlx5Payload mlx5_resp_scatter(Mlx5QpEngine *e, uint64_t off,
                              const Mlx5Pkt *pkt);
/** Return: the code of a scatter that went wrong. */
Mlx5Vendor mlx5_resp_scatter_vendor(Mlx5Payload result);
/** Complete the receive in hand; which one it was is filled into @c. */
void mlx5_resp_complete(Mlx5QpEngine *e, Mlx5CqeRecv *c);

/* atomic.c */
/** Carry out an atomic request. @original: what memory held before. */
Mlx5Payload mlx5_atomic_execute(Mlx5QpEngine *e, const Mlx5Pkt *pkt,
                                uint64_t *original);
/** The first @size of @bytes: an atomic's result as the requester's memory
 * has it. */
void mlx5_atomic_store(Mlx5Qp *qp, uint64_t value, uint32_t size,
                       uint8_t bytes[8]);

/* dci.c */
/** May @req, which is at cur, be sent? Its connection begins with that. */
bool mlx5_dci_begin(Mlx5QpEngine *e, Mlx5SendReq *req);
/** What a packet of @req has besides. */
void mlx5_dci_fill(const Mlx5SendReq *req, Mlx5Pkt *pkt);
/** Is the stream of @wqe in error? */
bool mlx5_dci_stream_stopped(const Mlx5QpEngine *e, const Mlx5SendWqe *wqe);
/** @req failed. Return: true if that concerns its stream alone. */
bool mlx5_dci_absorb(Mlx5QpEngine *e, const Mlx5SendReq *req);
bool mlx5_dci_stream_reset(Mlx5Qp *qp, uint16_t id);

/* dct.c */
/** A request for a DC target. */
void mlx5_dct_receive(Mlx5Func *func, const Mlx5Pkt *pkt);
/** The state of a peer's queue pair changed. */
void mlx5_dct_peer_state(Mlx5QpEngine *e);
void mlx5_dct_engine_created(Mlx5Dct *dct);
void mlx5_dct_engine_drain(Mlx5Dct *dct);
bool mlx5_dct_engine_busy(Mlx5Dct *dct);
void mlx5_dct_engine_destroyed(Mlx5Dct *dct);

/* cnp.c */
/** @pkt, for @e, is marked: congestion was experienced. May send a CNP. */
void mlx5_cnp_marked(Mlx5QpEngine *e, const Mlx5Pkt *pkt);
/** A CNP arrived. Never sends. */
void mlx5_cnp_receive(Mlx5Func *func, Mlx5Qp *qp, const Mlx5Pkt *pkt);

/* ud.c */
void mlx5_ud_receive(Mlx5QpEngine *e, const Mlx5Pkt *pkt);

/* odp.c */
void mlx5_odp_new(Mlx5Rdma *rdma);
void mlx5_odp_reset(Mlx5Rdma *rdma);
void mlx5_odp_free(Mlx5Rdma *rdma);
/** page_fault_type: of faults that name a work request (driver: odp.c). */
enum {
    MLX5_WQE_PF_TYPE_RMP = 0,
    MLX5_WQE_PF_TYPE_REQ_SEND_OR_WRITE = 1,
    MLX5_WQE_PF_TYPE_RESP = 2,
    MLX5_WQE_PF_TYPE_REQ_READ_OR_ATOMIC = 3,
    /* Of remote accesses, as bits. */
    MLX5_PF_TYPE_WRITE = 2,
    MLX5_PF_TYPE_RDMA = 4,
};
typedef struct Mlx5FaultWqe {
    uint8_t type;            /* MLX5_WQE_PF_TYPE_* */
    uint32_t wq;             /* QP; SRQ for type RMP */
    uint16_t index;          /* of the WQE */
    uint32_t committed;      /* bytes of it that are done */
    uint16_t packet_bytes;   /* responder: received, and waiting */
} Mlx5FaultWqe;
typedef struct Mlx5FaultRdma {
    bool write;              /* memory is to be changed */
    uint32_t rkey;
    uint64_t va, len;        /* of the whole operation */
    uint64_t committed;      /* bytes of it that are done */
    uint16_t packet_bytes;
} Mlx5FaultRdma;
/**
 * Tell the driver that @place waits, where nothing waits yet; the page is what
 * the last walk missed. Return: false if no event queue takes page faults: the
 * page will never come.
 */
bool mlx5_odp_raise_wqe(Mlx5QpEngine *e, Mlx5FaultPlace place,
                        const Mlx5FaultWqe *wqe);
bool mlx5_odp_raise_rdma(Mlx5QpEngine *e, Mlx5FaultPlace place,
                         const Mlx5FaultRdma *access);
/** What waited at @place is not wanted any more. */
void mlx5_odp_drop(Mlx5QpEngine *e, Mlx5FaultPlace place);
/** Nothing waits any more: the send queue stopped, or all of it. */
void mlx5_odp_cancel(Mlx5QpEngine *e, bool responder_too);

/* flush.c */
void mlx5_flush_init(Mlx5QpEngine *e);
void mlx5_flush_start(Mlx5QpEngine *e);
void mlx5_flush_stop(Mlx5QpEngine *e);

#endif
