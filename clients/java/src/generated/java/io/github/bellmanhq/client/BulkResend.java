// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * BulkResend, as the API has it. What is null is left out.
 *
 * @param filter Selects the tasks; at least one field is required.
 * @param dryRun Dry run: only counts the tasks.
 * @param mode As for one task; default once.
 * @param rate Rate in tasks per s, m or h; default 50/s.
 * @param reason see the API
 */
public record BulkResend(
        Filter filter,
        Boolean dryRun,
        ResendMode mode,
        String rate,
        String reason) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "filter", filter,
                "dry_run", dryRun,
                "mode", mode,
                "rate", rate,
                "reason", reason);
    }

    /** Begins one, with what it must have. */
    public static Builder builder(Filter filter) {
        return new Builder(filter);
    }

    /** Gathers what a BulkResend has. It is of one thread. */
    public static final class Builder {
        private final Filter filter;
        private Boolean dryRun;
        private ResendMode mode;
        private String rate;
        private String reason;

        private Builder(Filter filter) {
            this.filter = filter;
        }

        /** Dry run: only counts the tasks. */
        public Builder dryRun(Boolean dryRun) {
            this.dryRun = dryRun;
            return this;
        }

        /** As for one task; default once. */
        public Builder mode(ResendMode mode) {
            this.mode = mode;
            return this;
        }

        /** Rate in tasks per s, m or h; default 50/s. */
        public Builder rate(String rate) {
            this.rate = rate;
            return this;
        }

        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        public BulkResend build() {
            return new BulkResend(filter, dryRun, mode, rate, reason);
        }
    }
}
