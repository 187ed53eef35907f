// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * SettleOrders, as the API has it. What is null is left out.
 *
 * @param orders see the API
 * @param reason Written to the audit record of each order.
 * @param waiting Longest wait for the channel's answers, at most 60s; default 10s.
 */
public record SettleOrders(
        List<OrderRef> orders,
        String reason,
        String waiting) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "orders", orders,
                "reason", reason,
                "wait", waiting);
    }

    /** Begins one, with what it must have. */
    public static Builder builder(List<OrderRef> orders) {
        return new Builder(orders);
    }

    /** Gathers what a SettleOrders has. It is of one thread. */
    public static final class Builder {
        private final List<OrderRef> orders;
        private String reason;
        private String waiting;

        private Builder(List<OrderRef> orders) {
            this.orders = orders;
        }

        /** Written to the audit record of each order. */
        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        /** Longest wait for the channel's answers, at most 60s; default 10s. */
        public Builder waiting(String waiting) {
            this.waiting = waiting;
            return this;
        }

        public SettleOrders build() {
            return new SettleOrders(orders, reason, waiting);
        }
    }
}
