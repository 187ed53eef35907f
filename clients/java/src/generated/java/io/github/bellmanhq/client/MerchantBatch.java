// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MerchantBatch, as the API has it. What is null is left out.
 *
 * @param merchants see the API
 * @param dryRun Dry run: nothing is changed.
 * @param reason see the API
 */
public record MerchantBatch(
        List<PutMerchant> merchants,
        Boolean dryRun,
        String reason) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "merchants", merchants,
                "dry_run", dryRun,
                "reason", reason);
    }

    /** Begins one, with what it must have. */
    public static Builder builder(List<PutMerchant> merchants) {
        return new Builder(merchants);
    }

    /** Gathers what a MerchantBatch has. It is of one thread. */
    public static final class Builder {
        private final List<PutMerchant> merchants;
        private Boolean dryRun;
        private String reason;

        private Builder(List<PutMerchant> merchants) {
            this.merchants = merchants;
        }

        /** Dry run: nothing is changed. */
        public Builder dryRun(Boolean dryRun) {
            this.dryRun = dryRun;
            return this;
        }

        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        public MerchantBatch build() {
            return new MerchantBatch(merchants, dryRun, reason);
        }
    }
}
