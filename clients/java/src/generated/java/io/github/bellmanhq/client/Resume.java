// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Resume, as the API has it. What is null is left out.
 *
 * @param attempts Number of attempts.
 * @param last When the last of these attempts began.
 * @param began When the first attempt was due, for a schedule with an age or with offsets; default: last.
 */
public record Resume(
        int attempts,
        Instant last,
        Instant began) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "attempts", attempts,
                "last", last,
                "began", began);
    }
}
