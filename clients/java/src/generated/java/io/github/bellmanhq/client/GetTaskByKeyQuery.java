// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * GetTaskByKeyQuery, as the API has it. What is null is left out.
 *
 * @param attemptsAfter Shows up to 200 attempts with numbers above this one; default: the newest 200.
 * @param attempt Shows only the attempt with this number, with its request; default: all, without their requests.
 * @param reveal Shows the request, addresses and answers without masks. Needs the role admin and writes an audit record.
 */
public record GetTaskByKeyQuery(
        Integer attemptsAfter,
        Integer attempt,
        Boolean reveal) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "attempts_after", attemptsAfter,
                "attempt", attempt,
                "reveal", reveal);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a GetTaskByKeyQuery has. It is of one thread. */
    public static final class Builder {
        private Integer attemptsAfter;
        private Integer attempt;
        private Boolean reveal;

        private Builder() {
        }

        /** Shows up to 200 attempts with numbers above this one; default: the newest 200. */
        public Builder attemptsAfter(Integer attemptsAfter) {
            this.attemptsAfter = attemptsAfter;
            return this;
        }

        /** Shows only the attempt with this number, with its request; default: all, without their requests. */
        public Builder attempt(Integer attempt) {
            this.attempt = attempt;
            return this;
        }

        /** Shows the request, addresses and answers without masks. Needs the role admin and writes an audit record. */
        public Builder reveal(Boolean reveal) {
            this.reveal = reveal;
            return this;
        }

        public GetTaskByKeyQuery build() {
            return new GetTaskByKeyQuery(attemptsAfter, attempt, reveal);
        }
    }
}
