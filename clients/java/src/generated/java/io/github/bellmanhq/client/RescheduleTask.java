// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * RescheduleTask, as the API has it. What is null is left out.
 *
 * @param delay From now, at most 3650d.
 * @param due see the API
 * @param reason see the API
 */
public record RescheduleTask(
        String delay,
        Instant due,
        String reason) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "delay", delay,
                "due", due,
                "reason", reason);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a RescheduleTask has. It is of one thread. */
    public static final class Builder {
        private String delay;
        private Instant due;
        private String reason;

        private Builder() {
        }

        /** From now, at most 3650d. */
        public Builder delay(String delay) {
            this.delay = delay;
            return this;
        }

        public Builder due(Instant due) {
            this.due = due;
            return this;
        }

        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        public RescheduleTask build() {
            return new RescheduleTask(delay, due, reason);
        }
    }
}
