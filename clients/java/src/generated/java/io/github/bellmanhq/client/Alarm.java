// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Alarm, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param above see the API
 * @param endpoint The queue or endpoint of the alarm; * for those beyond the most that are reported one by one.
 * @param name see the API
 * @param queue Empty: all queues.
 * @param reason Why the alarm ended: over, rule_removed or rule_changed; empty while it is raised.
 * @param since see the API
 * @param to The notify queue; empty: no rule covers it, so nobody is told.
 * @param until null while the alarm is raised.
 * @param untold Why no task reports the latest change; empty: a task does.
 * @param value Value when the alarm was raised.
 * @param when see the API
 * @param affected Only of an order, refund or transfer that needs a person.
 * @param credential Only of credential_expires: the certificate or key, by its place in the configuration.
 * @param decision Only of order_decided_by_hand.
 * @param expires When the credential expires.
 */
public record Alarm(
        double above,
        String endpoint,
        String name,
        String queue,
        String reason,
        Instant since,
        String to,
        Instant until,
        String untold,
        double value,
        String when,
        AlarmCase affected,
        String credential,
        Decision decision,
        Instant expires) {
    static Alarm of(Object json) {
        var r = Shape.Reader.of("Alarm", json);
        return new Alarm(
                r.number("above", 0.0),
                r.text("endpoint"),
                r.text("name"),
                r.text("queue"),
                r.text("reason"),
                r.time("since"),
                r.text("to"),
                r.time("until"),
                r.text("untold"),
                r.number("value", 0.0),
                r.text("when"),
                r.shape("affected", AlarmCase::of),
                r.text("credential"),
                r.shape("decision", Decision::of),
                r.time("expires"));
    }
}
