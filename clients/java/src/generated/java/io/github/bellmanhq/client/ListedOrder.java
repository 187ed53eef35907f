// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ListedOrder, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param attempts Attempts so far, with any trigger.
 * @param created see the API
 * @param due Earliest time of the next attempt; null when it ended.
 * @param event see the API
 * @param finished null while it is pending.
 * @param id see the API
 * @param key see the API
 * @param kind Kind of the queue's tasks: notify, order or poll.
 * @param last The newest attempt; null before the first.
 * @param maxAttempts Number of attempts that the schedule allows; null if it has no end, and for an order or poll, which is polled until it is decided.
 * @param merchantNo see the API
 * @param method Empty for an order or poll.
 * @param orderNo see the API
 * @param queue see the API
 * @param reason Why it ended: accepted, attempts_used_up, max_age, gave_up, callback, superseded, …; empty while it is pending.
 * @param schedule see the API
 * @param state pending, succeeded, failed, cancelled.
 * @param step Attempts that count for the schedule since it began. Manual attempts do not count, and neither does the attempt that ended the task.
 * @param updated see the API
 * @param url see the API
 * @param account Name of the registered account that the order has.
 * @param amount Expected amount in the smallest unit of its currency; absent if it is unknown.
 * @param atChannel Poll: what the channel said about the refund, transfer or profit sharing when it was decided; absent: nothing.
 * @param channel Channel of the order, such as wechatpay; absent for a gateway of your own.
 * @param createdBy Name of the API key that created the task; absent for follow-up tasks and tasks from a broker.
 * @param currency Of the amount: ISO 4217.
 * @param latePayment Order: a payment after the order was decided otherwise, as the channel reports it. The decided state stays.
 * @param maxAge see the API
 * @param orderState Order: its state. UNKNOWN: the channel never decided it, and an alert was sent.
 * @param orderingKey It is attempted after the earlier tasks of its queue with the same ordering key.
 * @param payment Order: the payment that decided it, or came late; absent: none is known.
 * @param pollState Poll: its state. DONE: the money arrived. FAILED_THERE: the channel ended it without success. UNKNOWN: the task was cancelled before.
 * @param refNo Poll: the number of the refund, transfer or profit sharing at the channel.
 * @param repeat see the API
 * @param success see the API
 * @param supersedes It ends waiting tasks of its ordering key instead of waiting for them.
 * @param timeout see the API
 */
public record ListedOrder(
        int attempts,
        Instant created,
        Instant due,
        String event,
        Instant finished,
        String id,
        String key,
        String kind,
        LastAttempt last,
        Integer maxAttempts,
        String merchantNo,
        String method,
        String orderNo,
        String queue,
        String reason,
        String schedule,
        TaskState state,
        int step,
        Instant updated,
        String url,
        String account,
        Long amount,
        AtChannel atChannel,
        String channel,
        String createdBy,
        String currency,
        LatePayment latePayment,
        String maxAge,
        OrderState orderState,
        String orderingKey,
        Payment payment,
        PollState pollState,
        String refNo,
        String repeat,
        String success,
        Boolean supersedes,
        String timeout) {
    static ListedOrder of(Object json) {
        var r = Shape.Reader.of("ListedOrder", json);
        return new ListedOrder(
                r.int32("attempts", 0),
                r.time("created"),
                r.time("due"),
                r.text("event"),
                r.time("finished"),
                r.text("id"),
                r.text("key"),
                r.text("kind"),
                r.shape("last", LastAttempt::of),
                r.int32("max_attempts"),
                r.text("merchant_no"),
                r.text("method"),
                r.text("order_no"),
                r.text("queue"),
                r.text("reason"),
                r.text("schedule"),
                r.shape("state", TaskState::of),
                r.int32("step", 0),
                r.time("updated"),
                r.text("url"),
                r.text("account"),
                r.int64("amount"),
                r.shape("at_channel", AtChannel::of),
                r.text("channel"),
                r.text("created_by"),
                r.text("currency"),
                r.shape("late_payment", LatePayment::of),
                r.text("max_age"),
                r.shape("order_state", OrderState::of),
                r.text("ordering_key"),
                r.shape("payment", Payment::of),
                r.shape("poll_state", PollState::of),
                r.text("ref_no"),
                r.text("repeat"),
                r.text("success"),
                r.bool("supersedes"),
                r.text("timeout"));
    }
}
