// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * DecideOrder, as the API has it. What is null is left out.
 *
 * @param outcome The order's state.
 * @param reason How the outcome is known. It is in the audit record and in the alarm.
 */
public record DecideOrder(
        OrderOutcome outcome,
        String reason) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "outcome", outcome,
                "reason", reason);
    }
}
