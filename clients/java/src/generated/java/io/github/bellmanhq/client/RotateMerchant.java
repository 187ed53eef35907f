// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * RotateMerchant, as the API has it. What is null is left out.
 *
 * @param secret The new key itself.
 * @param overlap How long the present secrets go on signing, at most 90d; default 24h. standard_webhooks and t_v1 send all signatures in one header; the other schemes send one, of the newest secret at once.
 * @param reason see the API
 */
public record RotateMerchant(
        String secret,
        String overlap,
        String reason) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "secret", secret,
                "overlap", overlap,
                "reason", reason);
    }

    /** Begins one, with what it must have. */
    public static Builder builder(String secret) {
        return new Builder(secret);
    }

    /** Gathers what a RotateMerchant has. It is of one thread. */
    public static final class Builder {
        private final String secret;
        private String overlap;
        private String reason;

        private Builder(String secret) {
            this.secret = secret;
        }

        /** How long the present secrets go on signing, at most 90d; default 24h. standard_webhooks and t_v1 send all signatures in one header; the other schemes send one, of the newest secret at once. */
        public Builder overlap(String overlap) {
            this.overlap = overlap;
            return this;
        }

        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        public RotateMerchant build() {
            return new RotateMerchant(secret, overlap, reason);
        }
    }
}
