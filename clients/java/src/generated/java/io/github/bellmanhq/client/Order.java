// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Order, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param attempts Attempts of these tasks by start time: the newest 200 of each task, the newest 1,000 in all.
 * @param merchantNo see the API
 * @param more There are more tasks or attempts than shown. Each task's own page shows all of its attempts.
 * @param orderNo see the API
 * @param orderState PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED or UNKNOWN; empty if none of the tasks is an order. With several orders: a paid state if one is paid, otherwise PENDING if one is pending, otherwise the state of the newest.
 * @param tasks All tasks with these numbers, in any queue, by creation time: the newest 200.
 * @param account Name of the registered account that the order has.
 * @param amount Expected amount in the smallest unit of its currency; absent if it is unknown.
 * @param channelOrderNo The number by which the channel knows the order. With several orders, this number, account, amount and currency are those of the order that order_state is about.
 * @param currency Of the amount: ISO 4217.
 * @param latePayment A payment after the order was decided otherwise, as the channel reports it. The decided state stays.
 * @param payment The payment that decided the order, or came late; absent: none is known. With reason amount_mismatch: the payment of another amount.
 * @param settled Only with settle. true: every attempt that was overdue was made and recorded. false: the wait ended first, so the state may be outdated.
 */
public record Order(
        List<OrderAttempt> attempts,
        String merchantNo,
        boolean more,
        String orderNo,
        String orderState,
        List<Task> tasks,
        String account,
        Long amount,
        String channelOrderNo,
        String currency,
        LatePayment latePayment,
        Payment payment,
        Boolean settled) {
    static Order of(Object json) {
        var r = Shape.Reader.of("Order", json);
        return new Order(
                r.list("attempts", OrderAttempt::of),
                r.text("merchant_no"),
                r.bool("more", false),
                r.text("order_no"),
                r.text("order_state"),
                r.list("tasks", Task::of),
                r.text("account"),
                r.int64("amount"),
                r.text("channel_order_no"),
                r.text("currency"),
                r.shape("late_payment", LatePayment::of),
                r.shape("payment", Payment::of),
                r.bool("settled"));
    }
}
