// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ResendTask, as the API has it. What is null is left out.
 *
 * @param mode once (default): one attempt now; the schedule does not change. restart: the schedule starts again now.
 * @param reason see the API
 */
public record ResendTask(
        ResendMode mode,
        String reason) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "mode", mode,
                "reason", reason);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a ResendTask has. It is of one thread. */
    public static final class Builder {
        private ResendMode mode;
        private String reason;

        private Builder() {
        }

        /** once (default): one attempt now; the schedule does not change. restart: the schedule starts again now. */
        public Builder mode(ResendMode mode) {
            this.mode = mode;
            return this;
        }

        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        public ResendTask build() {
            return new ResendTask(mode, reason);
        }
    }
}
