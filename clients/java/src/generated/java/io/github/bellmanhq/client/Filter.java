// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Filter, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param createdFrom Inclusive.
 * @param createdTo Exclusive.
 * @param event see the API
 * @param finishedFrom Ended at this time or later.
 * @param key see the API
 * @param kind notify, order, poll.
 * @param merchantNo see the API
 * @param orderNo see the API
 * @param queue see the API
 * @param result Result of the last attempt.
 * @param state pending, succeeded, failed, cancelled.
 * @param status HTTP status of the last attempt's answer.
 * @param urlHost Host, or host:port, of the task's URL, in upper or lower case.
 */
public record Filter(
        Instant createdFrom,
        Instant createdTo,
        String event,
        Instant finishedFrom,
        String key,
        TaskKind kind,
        String merchantNo,
        String orderNo,
        String queue,
        AttemptResult result,
        TaskState state,
        Integer status,
        String urlHost) implements Shape {
    static Filter of(Object json) {
        var r = Shape.Reader.of("Filter", json);
        return new Filter(
                r.time("created_from"),
                r.time("created_to"),
                r.text("event"),
                r.time("finished_from"),
                r.text("key"),
                r.shape("kind", TaskKind::of),
                r.text("merchant_no"),
                r.text("order_no"),
                r.text("queue"),
                r.shape("result", AttemptResult::of),
                r.shape("state", TaskState::of),
                r.int32("status"),
                r.text("url_host"));
    }

    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "created_from", createdFrom,
                "created_to", createdTo,
                "event", event,
                "finished_from", finishedFrom,
                "key", key,
                "kind", kind,
                "merchant_no", merchantNo,
                "order_no", orderNo,
                "queue", queue,
                "result", result,
                "state", state,
                "status", status,
                "url_host", urlHost);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a Filter has. It is of one thread. */
    public static final class Builder {
        private Instant createdFrom;
        private Instant createdTo;
        private String event;
        private Instant finishedFrom;
        private String key;
        private TaskKind kind;
        private String merchantNo;
        private String orderNo;
        private String queue;
        private AttemptResult result;
        private TaskState state;
        private Integer status;
        private String urlHost;

        private Builder() {
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

        public Builder event(String event) {
            this.event = event;
            return this;
        }

        /** Ended at this time or later. */
        public Builder finishedFrom(Instant finishedFrom) {
            this.finishedFrom = finishedFrom;
            return this;
        }

        public Builder key(String key) {
            this.key = key;
            return this;
        }

        /** notify, order, poll. */
        public Builder kind(TaskKind kind) {
            this.kind = kind;
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

        public Builder queue(String queue) {
            this.queue = queue;
            return this;
        }

        /** Result of the last attempt. */
        public Builder result(AttemptResult result) {
            this.result = result;
            return this;
        }

        /** pending, succeeded, failed, cancelled. */
        public Builder state(TaskState state) {
            this.state = state;
            return this;
        }

        /** HTTP status of the last attempt's answer. */
        public Builder status(Integer status) {
            this.status = status;
            return this;
        }

        /** Host, or host:port, of the task's URL, in upper or lower case. */
        public Builder urlHost(String urlHost) {
            this.urlHost = urlHost;
            return this;
        }

        public Filter build() {
            return new Filter(createdFrom, createdTo, event, finishedFrom, key, kind, merchantNo, orderNo, queue, result, state, status, urlHost);
        }
    }
}
