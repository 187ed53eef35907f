// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MakeLink, as the API has it. What is null is left out.
 *
 * @param merchantNo see the API
 * @param reason Written to the audit record.
 * @param life Lifetime of the link, 1h to 30d; default 24h.
 * @param orderNo Shows only the notices of this order; default: all of the merchant's.
 */
public record MakeLink(
        String merchantNo,
        String reason,
        String life,
        String orderNo) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "merchant_no", merchantNo,
                "reason", reason,
                "life", life,
                "order_no", orderNo);
    }

    /** Begins one, with what it must have. */
    public static Builder builder(String merchantNo, String reason) {
        return new Builder(merchantNo, reason);
    }

    /** Gathers what a MakeLink has. It is of one thread. */
    public static final class Builder {
        private final String merchantNo;
        private final String reason;
        private String life;
        private String orderNo;

        private Builder(String merchantNo, String reason) {
            this.merchantNo = merchantNo;
            this.reason = reason;
        }

        /** Lifetime of the link, 1h to 30d; default 24h. */
        public Builder life(String life) {
            this.life = life;
            return this;
        }

        /** Shows only the notices of this order; default: all of the merchant's. */
        public Builder orderNo(String orderNo) {
            this.orderNo = orderNo;
            return this;
        }

        public MakeLink build() {
            return new MakeLink(merchantNo, reason, life, orderNo);
        }
    }
}
