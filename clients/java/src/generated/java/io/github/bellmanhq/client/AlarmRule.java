// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AlarmRule, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param above Threshold: seconds for overdue and store_slow, otherwise a count.
 * @param holding How long the condition must hold.
 * @param name see the API
 * @param queue The queue whose tasks count; empty: all queues.
 * @param to The notify queue.
 * @param when overdue, endpoint_failing, orders_unknown, tasks_failed, store_slow, overloaded, node_silent, credential_expires, order_decided_by_hand, order_needs_action, amount_mismatch, late_payment, payment_without_order, poll_needs_action.
 */
public record AlarmRule(
        double above,
        String holding,
        String name,
        String queue,
        String to,
        AlarmCondition when) {
    static AlarmRule of(Object json) {
        var r = Shape.Reader.of("AlarmRule", json);
        return new AlarmRule(
                r.number("above", 0.0),
                r.text("for"),
                r.text("name"),
                r.text("queue"),
                r.text("to"),
                r.shape("when", AlarmCondition::of));
    }
}
