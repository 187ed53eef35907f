// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ListMerchantsQuery, as the API has it. What is null is left out.
 *
 * @param merchantNo How the number begins.
 * @param name How the name begins, in upper or lower case.
 * @param paused true: those alone that are paused.
 * @param limit see the API
 * @param cursor A page's next_cursor, with the same search; default: the first.
 */
public record ListMerchantsQuery(
        String merchantNo,
        String name,
        Boolean paused,
        Integer limit,
        String cursor) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "merchant_no", merchantNo,
                "name", name,
                "paused", paused,
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
        private Integer limit;
        private String cursor;

        private Builder() {
        }

        /** How the number begins. */
        public Builder merchantNo(String merchantNo) {
            this.merchantNo = merchantNo;
            return this;
        }

        /** How the name begins, in upper or lower case. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** true: those alone that are paused. */
        public Builder paused(Boolean paused) {
            this.paused = paused;
            return this;
        }

        public Builder limit(Integer limit) {
            this.limit = limit;
            return this;
        }

        /** A page's next_cursor, with the same search; default: the first. */
        public Builder cursor(String cursor) {
            this.cursor = cursor;
            return this;
        }

        public ListMerchantsQuery build() {
            return new ListMerchantsQuery(merchantNo, name, paused, limit, cursor);
        }
    }
}
