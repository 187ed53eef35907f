// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Health, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param status full: the store rejects new tasks; existing tasks go on.
 */
public record Health(
        HealthStatus status) {
    static Health of(Object json) {
        var r = Shape.Reader.of("Health", json);
        return new Health(
                r.shape("status", HealthStatus::of));
    }
}
