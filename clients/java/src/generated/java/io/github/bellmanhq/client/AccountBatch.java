// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AccountBatch, as the API has it. What is null is left out.
 *
 * @param accounts see the API
 * @param dryRun Dry run: nothing is changed.
 * @param reason see the API
 */
public record AccountBatch(
        List<PutAccount> accounts,
        Boolean dryRun,
        String reason) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "accounts", accounts,
                "dry_run", dryRun,
                "reason", reason);
    }

    /** Begins one, with what it must have. */
    public static Builder builder(List<PutAccount> accounts) {
        return new Builder(accounts);
    }

    /** Gathers what a AccountBatch has. It is of one thread. */
    public static final class Builder {
        private final List<PutAccount> accounts;
        private Boolean dryRun;
        private String reason;

        private Builder(List<PutAccount> accounts) {
            this.accounts = accounts;
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

        public AccountBatch build() {
            return new AccountBatch(accounts, dryRun, reason);
        }
    }
}
