// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ListAuditsQuery, as the API has it. What is null is left out.
 *
 * @param who Every record is examined for this and the following fields, so a page may have few records, or none, and be followed by more.
 * @param action see the API
 * @param target see the API
 * @param job see the API
 * @param createdFrom Inclusive.
 * @param createdTo Exclusive.
 * @param limit see the API
 * @param cursor The next_cursor of a page of the same filter; default: the newest.
 */
public record ListAuditsQuery(
        String who,
        String action,
        String target,
        String job,
        Instant createdFrom,
        Instant createdTo,
        Integer limit,
        String cursor) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "who", who,
                "action", action,
                "target", target,
                "job", job,
                "created_from", createdFrom,
                "created_to", createdTo,
                "limit", limit,
                "cursor", cursor);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a ListAuditsQuery has. It is of one thread. */
    public static final class Builder {
        private String who;
        private String action;
        private String target;
        private String job;
        private Instant createdFrom;
        private Instant createdTo;
        private Integer limit;
        private String cursor;

        private Builder() {
        }

        /** Every record is examined for this and the following fields, so a page may have few records, or none, and be followed by more. */
        public Builder who(String who) {
            this.who = who;
            return this;
        }

        public Builder action(String action) {
            this.action = action;
            return this;
        }

        public Builder target(String target) {
            this.target = target;
            return this;
        }

        public Builder job(String job) {
            this.job = job;
            return this;
        }

        /** Inclusive. */
        public Builder createdFrom(Instant createdFrom) {
            this.createdFrom = createdFrom;
            return this;
        }

        /** Exclusive. */
        public Builder createdTo(Instant createdTo) {
            this.createdTo = createdTo;
            return this;
        }

        public Builder limit(Integer limit) {
            this.limit = limit;
            return this;
        }

        /** The next_cursor of a page of the same filter; default: the newest. */
        public Builder cursor(String cursor) {
            this.cursor = cursor;
            return this;
        }

        public ListAuditsQuery build() {
            return new ListAuditsQuery(who, action, target, job, createdFrom, createdTo, limit, cursor);
        }
    }
}
