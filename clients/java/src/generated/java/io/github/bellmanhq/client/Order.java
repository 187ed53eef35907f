// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Order, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param attempts Attempts of these tasks in the order in which they started: of each task the newest 200, of all the newest 1,000.
 * @param merchantNo see the API
 * @param more There are more tasks or attempts than are shown; each task by itself shows all of its own.
 * @param orderNo see the API
 * @param orderState PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED or UNKNOWN; empty when none of the tasks is an order. Where several are: paid if one is paid, or else pending if one is pending, or else as the newest.
 * @param tasks All tasks with these numbers, of whatever queue, in the order in which they were created: the newest 200.
 * @param latePayment A payment that came after the order was decided otherwise, as the channel says; the decided state stays.
 * @param settled With settle alone. true: all that was overdue, or should have ended, was attempted and that is recorded. false: the wait ended first, and the order may not stand as is shown.
 */
public record Order(
        List<OrderAttempt> attempts,
        String merchantNo,
        boolean more,
        String orderNo,
        String orderState,
        List<Task> tasks,
        LatePayment latePayment,
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
                r.shape("late_payment", LatePayment::of),
                r.bool("settled"));
    }
}
