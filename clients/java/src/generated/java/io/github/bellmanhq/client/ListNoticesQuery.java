// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ListNoticesQuery, as the API has it. What is null is left out.
 *
 * @param queue see the API
 * @param merchantNo see the API
 * @param orderNo see the API
 * @param result see the API
 * @param limit see the API
 * @param cursor The next_cursor of a page of the same filter; default: the newest.
 */
public record ListNoticesQuery(
        String queue,
        String merchantNo,
        String orderNo,
        NoticeResult result,
        Integer limit,
        String cursor) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "queue", queue,
                "merchant_no", merchantNo,
                "order_no", orderNo,
                "result", result,
                "limit", limit,
                "cursor", cursor);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a ListNoticesQuery has. It is of one thread. */
    public static final class Builder {
        private String queue;
        private String merchantNo;
        private String orderNo;
        private NoticeResult result;
        private Integer limit;
        private String cursor;

        private Builder() {
        }

        public Builder queue(String queue) {
            this.queue = queue;
            return this;
        }

        public Builder merchantNo(String merchantNo) {
            this.merchantNo = merchantNo;
            return this;
        }

        public Builder orderNo(String orderNo) {
            this.orderNo = orderNo;
            return this;
        }

        public Builder result(NoticeResult result) {
            this.result = result;
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

        public ListNoticesQuery build() {
            return new ListNoticesQuery(queue, merchantNo, orderNo, result, limit, cursor);
        }
    }
}
