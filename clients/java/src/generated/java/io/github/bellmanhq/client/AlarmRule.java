// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AlarmRule, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param above The figure that is still fine: seconds of overdue and store_slow, else a count.
 * @param holding How long it must have held.
 * @param name see the API
 * @param queue Whose tasks are meant; empty: of all queues.
 * @param to The queue whose tasks tell.
 * @param when overdue, endpoint_failing, orders_unknown, tasks_failed, store_slow, overloaded, node_silent.
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
