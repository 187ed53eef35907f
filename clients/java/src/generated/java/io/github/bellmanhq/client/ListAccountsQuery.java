// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ListAccountsQuery, as the API has it. What is null is left out.
 *
 * @param account Beginning of the account's name in orders.
 * @param name Beginning of the name for people, in upper or lower case.
 * @param limit see the API
 * @param cursor The next_cursor of a page of the same search; default: the first page.
 */
public record ListAccountsQuery(
        String account,
        String name,
        Integer limit,
        String cursor) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "account", account,
                "name", name,
                "limit", limit,
                "cursor", cursor);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a ListAccountsQuery has. It is of one thread. */
    public static final class Builder {
        private String account;
        private String name;
        private Integer limit;
        private String cursor;

        private Builder() {
        }

        /** Beginning of the account's name in orders. */
        public Builder account(String account) {
            this.account = account;
            return this;
        }

        /** Beginning of the name for people, in upper or lower case. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        public Builder limit(Integer limit) {
            this.limit = limit;
            return this;
        }

        /** The next_cursor of a page of the same search; default: the first page. */
        public Builder cursor(String cursor) {
            this.cursor = cursor;
            return this;
        }

        public ListAccountsQuery build() {
            return new ListAccountsQuery(account, name, limit, cursor);
        }
    }
}
