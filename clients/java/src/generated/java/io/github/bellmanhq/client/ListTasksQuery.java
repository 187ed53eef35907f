// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ListTasksQuery, as the API has it. What is null is left out.
 *
 * @param queue see the API
 * @param state see the API
 * @param merchantNo see the API
 * @param orderNo see the API
 * @param key see the API
 * @param event see the API
 * @param urlHost Host, or host:port, of the task's URL, in upper or lower case.
 * @param createdFrom Inclusive.
 * @param createdTo Exclusive.
 * @param kind Every task is examined, so a page may have few tasks, or none, and be followed by more.
 * @param result Result of the last attempt; examined as for kind.
 * @param status HTTP status of the last attempt's answer; examined as for kind.
 * @param finishedFrom Ended at this time or later; examined as for kind.
 * @param limit see the API
 * @param cursor The next_cursor of a page of the same filter; default: the newest.
 */
public record ListTasksQuery(
        String queue,
        TaskState state,
        String merchantNo,
        String orderNo,
        String key,
        String event,
        String urlHost,
        Instant createdFrom,
        Instant createdTo,
        TaskKind kind,
        AttemptResult result,
        Integer status,
        Instant finishedFrom,
        Integer limit,
        String cursor) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "queue", queue,
                "state", state,
                "merchant_no", merchantNo,
                "order_no", orderNo,
                "key", key,
                "event", event,
                "url_host", urlHost,
                "created_from", createdFrom,
                "created_to", createdTo,
                "kind", kind,
                "result", result,
                "status", status,
                "finished_from", finishedFrom,
                "limit", limit,
                "cursor", cursor);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a ListTasksQuery has. It is of one thread. */
    public static final class Builder {
        private String queue;
        private TaskState state;
        private String merchantNo;
        private String orderNo;
        private String key;
        private String event;
        private String urlHost;
        private Instant createdFrom;
        private Instant createdTo;
        private TaskKind kind;
        private AttemptResult result;
        private Integer status;
        private Instant finishedFrom;
        private Integer limit;
        private String cursor;

        private Builder() {
        }

        public Builder queue(String queue) {
            this.queue = queue;
            return this;
        }

        public Builder state(TaskState state) {
            this.state = state;
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

        public Builder key(String key) {
            this.key = key;
            return this;
        }

        public Builder event(String event) {
            this.event = event;
            return this;
        }

        /** Host, or host:port, of the task's URL, in upper or lower case. */
        public Builder urlHost(String urlHost) {
            this.urlHost = urlHost;
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

        /** Every task is examined, so a page may have few tasks, or none, and be followed by more. */
        public Builder kind(TaskKind kind) {
            this.kind = kind;
            return this;
        }

        /** Result of the last attempt; examined as for kind. */
        public Builder result(AttemptResult result) {
            this.result = result;
            return this;
        }

        /** HTTP status of the last attempt's answer; examined as for kind. */
        public Builder status(Integer status) {
            this.status = status;
            return this;
        }

        /** Ended at this time or later; examined as for kind. */
        public Builder finishedFrom(Instant finishedFrom) {
            this.finishedFrom = finishedFrom;
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

        public ListTasksQuery build() {
            return new ListTasksQuery(queue, state, merchantNo, orderNo, key, event, urlHost, createdFrom, createdTo, kind, result, status, finishedFrom, limit, cursor);
        }
    }
}
