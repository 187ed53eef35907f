// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ListMerchantsQuery, as the API has it. What is null is left out.
 *
 * @param merchantNo Beginning of the number.
 * @param name Beginning of the name, in upper or lower case.
 * @param paused true: only paused ones.
 * @param state Only merchants in this state. failing: they accept nothing. late: a notification is overdue by more than the alarm overdue allows, among the 1,000 tasks that are overdue the longest.
 * @param limit see the API
 * @param cursor The next_cursor of a page of the same search; default: the first page.
 */
public record ListMerchantsQuery(
        String merchantNo,
        String name,
        Boolean paused,
        MerchantTrouble state,
        Integer limit,
        String cursor) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "merchant_no", merchantNo,
                "name", name,
                "paused", paused,
                "state", state,
                "limit", limit,
                "cursor", cursor);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a ListMerchantsQuery has. It is of one thread. */
    public static final class Builder {
        private String merchantNo;
        private String name;
        private Boolean paused;
        private MerchantTrouble state;
        private Integer limit;
        private String cursor;

        private Builder() {
        }

        /** Beginning of the number. */
        public Builder merchantNo(String merchantNo) {
            this.merchantNo = merchantNo;
            return this;
        }

        /** Beginning of the name, in upper or lower case. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** true: only paused ones. */
        public Builder paused(Boolean paused) {
            this.paused = paused;
            return this;
        }

        /** Only merchants in this state. failing: they accept nothing. late: a notification is overdue by more than the alarm overdue allows, among the 1,000 tasks that are overdue the longest. */
        public Builder state(MerchantTrouble state) {
            this.state = state;
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

        public ListMerchantsQuery build() {
            return new ListMerchantsQuery(merchantNo, name, paused, state, limit, cursor);
        }
    }
}
