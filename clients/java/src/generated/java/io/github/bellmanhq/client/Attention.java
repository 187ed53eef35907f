// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Attention, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param alarm The raised alarm about it; empty: none.
 * @param amounts Sums of the affected orders, as far as known: of at most 1,000 overdue and 1,000 deferred tasks, 200 pending tasks of a merchant, and 200 failed orders of a queue.
 * @param expires Only of credential_expires.
 * @param failure The last failed attempt; of tasks_failed that of the merchant with the most failed tasks. null: none is known.
 * @param kind overloaded, store_slow, shards_unowned, node_gone, node_silent, node_clock, endpoint_failing, endpoint_throttled, endpoint_paused, merchant_failing, merchant_paused, queue_late, queue_paused, source_stopped, tasks_failed, orders_unknown, amount_mismatch, late_payment, duplicate_payment, payment_without_order, poll_needs_action, bill_differs, bill_missing, credential_expires, notices_refused, follow_ups_refused, not_ready, store_full, alarm.
 * @param merchantNo Of one merchant or order; empty: it is about none, or about several.
 * @param more There may be more of them.
 * @param name What it is about: an endpoint, merchant, queue, node, store, source, credential, order or alarm; empty: the server as a whole.
 * @param off Of queue_late: how long its oldest task is overdue. Of store_slow: how long a commit takes. Of node_clock: how far the clock is ahead, or with a minus sign behind. Otherwise empty.
 * @param orderNo see the API
 * @param page Path of the console's page on which a person deals with it.
 * @param queue Empty: no queue, or several.
 * @param rate Only of endpoint_throttled: attempts a second.
 * @param refNo Number of the refund or transfer.
 * @param since null: not known.
 * @param task Id of the task of one order, refund or transfer, or of the one whose follow-up was refused last; empty: it is about none, or about several.
 * @param tasks Tasks, orders, differences or notices that are affected; 0: not known.
 * @param untold Why no task reports that alarm; empty: a task does.
 * @param urgent Money or tasks are stuck. Otherwise somebody chose it, or it will get worse.
 * @param who Who paused it, or decided it; empty: nobody, or authentication is off.
 * @param why Reason, in English; empty: the kind says it.
 */
public record Attention(
        String alarm,
        List<AttentionAmount> amounts,
        Instant expires,
        AttentionFailure failure,
        AttentionKind kind,
        String merchantNo,
        boolean more,
        String name,
        String off,
        String orderNo,
        String page,
        String queue,
        double rate,
        String refNo,
        Instant since,
        String task,
        int tasks,
        String untold,
        boolean urgent,
        String who,
        String why) {
    static Attention of(Object json) {
        var r = Shape.Reader.of("Attention", json);
        return new Attention(
                r.text("alarm"),
                r.list("amounts", AttentionAmount::of),
                r.time("expires"),
                r.shape("failure", AttentionFailure::of),
                r.shape("kind", AttentionKind::of),
                r.text("merchant_no"),
                r.bool("more", false),
                r.text("name"),
                r.text("off"),
                r.text("order_no"),
                r.text("page"),
                r.text("queue"),
                r.number("rate", 0.0),
                r.text("ref_no"),
                r.time("since"),
                r.text("task"),
                r.int32("tasks", 0),
                r.text("untold"),
                r.bool("urgent", false),
                r.text("who"),
                r.text("why"));
    }
}
