// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ListDifferencesQuery, as the API has it. What is null is left out.
 *
 * @param kind Only differences of this kind.
 * @param limit see the API
 * @param cursor The next_cursor of a page; default: the first page.
 */
public record ListDifferencesQuery(
        DifferenceKind kind,
        Integer limit,
        String cursor) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "kind", kind,
                "limit", limit,
                "cursor", cursor);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a ListDifferencesQuery has. It is of one thread. */
    public static final class Builder {
        private DifferenceKind kind;
        private Integer limit;
        private String cursor;

        private Builder() {
        }

        /** Only differences of this kind. */
        public Builder kind(DifferenceKind kind) {
            this.kind = kind;
            return this;
        }

        public Builder limit(Integer limit) {
            this.limit = limit;
            return this;
        }

        /** The next_cursor of a page; default: the first page. */
        public Builder cursor(String cursor) {
            this.cursor = cursor;
            return this;
        }

        public ListDifferencesQuery build() {
            return new ListDifferencesQuery(kind, limit, cursor);
        }
    }
}
