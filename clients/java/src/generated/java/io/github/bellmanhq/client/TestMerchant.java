// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * TestMerchant, as the API has it. What is null is left out.
 *
 * @param queue A queue of kind notify; optional if there is only one.
 * @param reason see the API
 */
public record TestMerchant(
        String queue,
        String reason) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "queue", queue,
                "reason", reason);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a TestMerchant has. It is of one thread. */
    public static final class Builder {
        private String queue;
        private String reason;

        private Builder() {
        }

        /** A queue of kind notify; optional if there is only one. */
        public Builder queue(String queue) {
            this.queue = queue;
            return this;
        }

        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        public TestMerchant build() {
            return new TestMerchant(queue, reason);
        }
    }
}
