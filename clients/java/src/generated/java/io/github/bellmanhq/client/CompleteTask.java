// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * CompleteTask, as the API has it. What is null is left out.
 *
 * @param outcome The answer. Required for an order: PAID, PAID_REFUNDED, CLOSED, REVOKED or FAILED; for a poll: DONE or FAILED_THERE. Without one for a notice that is held: a person has handled its payment.
 * @param reason Default callback.
 * @param taken Order: an object with fields of the payment for the merchant's notification: transaction_id, amount (a whole number of the smallest unit), currency (ISO 4217), paid_at, and others. An order with an amount needs amount and currency here to become PAID.
 */
public record CompleteTask(
        String outcome,
        String reason,
        Object taken) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "outcome", outcome,
                "reason", reason,
                "taken", taken);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a CompleteTask has. It is of one thread. */
    public static final class Builder {
        private String outcome;
        private String reason;
        private Object taken;

        private Builder() {
        }

        /** The answer. Required for an order: PAID, PAID_REFUNDED, CLOSED, REVOKED or FAILED; for a poll: DONE or FAILED_THERE. Without one for a notice that is held: a person has handled its payment. */
        public Builder outcome(String outcome) {
            this.outcome = outcome;
            return this;
        }

        /** Default callback. */
        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        /** Order: an object with fields of the payment for the merchant's notification: transaction_id, amount (a whole number of the smallest unit), currency (ISO 4217), paid_at, and others. An order with an amount needs amount and currency here to become PAID. */
        public Builder taken(Object taken) {
            this.taken = taken;
            return this;
        }

        public CompleteTask build() {
            return new CompleteTask(outcome, reason, taken);
        }
    }
}
