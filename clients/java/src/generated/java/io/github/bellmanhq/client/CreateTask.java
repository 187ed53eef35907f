// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * CreateTask, as the API has it. What is null is left out.
 *
 * @param queue The class of tasks whose rules it follows.
 * @param body What is sent, as text: at most 262,144 bytes of UTF-8, however they are escaped in JSON; more is 413. Not together with json.
 * @param codeLife Of an order: how long after it was created its payer can pay with the code or page. If the channel knew no such order when it was closed, a late payment is watched for until then; default: the queue's.
 * @param delay Wait before the schedule begins, at most 3650d; 0s is now, whatever the queue's delay; a schedule whose first item is not 0s adds that before the first attempt.
 * @param due When the schedule begins; a schedule whose first item is not 0s adds that before the first attempt. Not together with delay; neither means the queue's delay, or now.
 * @param event see the API
 * @param expires Of an order: when nobody paid so long after it was created, the close protocol begins; default: the queue's.
 * @param headers At most 64, of 8,192 bytes each.
 * @param json What is sent, as any JSON value, byte for byte as given: at most 262,144 bytes; more is 413. Sets Content-Type to application/json unless headers say otherwise. Not together with body.
 * @param key The caller's own name for the task, unique within its queue, at most 255 bytes. The same key with other content is 409. Default for an order: merchant_no/order_no.
 * @param maxAge No attempt is due later than this after the schedule began: then the task ends instead. An attempt that was due in time is made even when it is late, after downtime or a pause, and one asked for by hand is always made.
 * @param merchantNo see the API
 * @param method Default POST.
 * @param notification Of an order: how the merchant is told how it ended.
 * @param orderCreated Of an order: when it was created at the channel; expires and code_life count from it, and so does the age before which the channel lets nobody close it. In the latest 31 days by the server's clock, and at most a minute ahead of it. Default: when bellman was told of it.
 * @param orderNo see the API
 * @param orderingKey Tasks of one queue that have the same ordering key go out in the order in which they were created, each after the one before has ended. At most 255 bytes. Not together with repeat, and not for an order.
 * @param repeat A duration, or cron and an expression: the task begins again after it ended, until it is cancelled. The first round begins as due and delay say, so now if neither is given, with cron too: give due for a first round at its time.
 * @param resume Where another system left the task: its schedule goes on from there. Not together with due or delay, and not for an order.
 * @param schedule A preset's name or a schedule's text; default: the queue's.
 * @param success A preset's name or an expression; default: the queue's.
 * @param supersedes Ends the earlier tasks of its ordering key that wait, instead of waiting for them: they are cancelled, reason superseded, and cannot be sent again.
 * @param timeout Of one attempt; default: the queue's.
 * @param url Where the request goes. Required unless the queue has an address of its own.
 * @param vars Of an order: values for the queue's templates, {vars.NAME}. At most 64, of 4,000 characters each; names of letters, digits and _.
 */
public record CreateTask(
        String queue,
        String body,
        String codeLife,
        String delay,
        Instant due,
        String event,
        String expires,
        Map<String, String> headers,
        Object json,
        String key,
        String maxAge,
        String merchantNo,
        String method,
        Notify notification,
        Instant orderCreated,
        String orderNo,
        String orderingKey,
        String repeat,
        Resume resume,
        String schedule,
        String success,
        Boolean supersedes,
        String timeout,
        String url,
        Map<String, String> vars) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "queue", queue,
                "body", body,
                "code_life", codeLife,
                "delay", delay,
                "due", due,
                "event", event,
                "expires", expires,
                "headers", headers,
                "json", json,
                "key", key,
                "max_age", maxAge,
                "merchant_no", merchantNo,
                "method", method,
                "notify", notification,
                "order_created", orderCreated,
                "order_no", orderNo,
                "ordering_key", orderingKey,
                "repeat", repeat,
                "resume", resume,
                "schedule", schedule,
                "success", success,
                "supersedes", supersedes,
                "timeout", timeout,
                "url", url,
                "vars", vars);
    }

    /** Begins one, with what it must have. */
    public static Builder builder(String queue) {
        return new Builder(queue);
    }

    /** Gathers what a CreateTask has. It is of one thread. */
    public static final class Builder {
        private final String queue;
        private String body;
        private String codeLife;
        private String delay;
        private Instant due;
        private String event;
        private String expires;
        private Map<String, String> headers;
        private Object json;
        private String key;
        private String maxAge;
        private String merchantNo;
        private String method;
        private Notify notification;
        private Instant orderCreated;
        private String orderNo;
        private String orderingKey;
        private String repeat;
        private Resume resume;
        private String schedule;
        private String success;
        private Boolean supersedes;
        private String timeout;
        private String url;
        private Map<String, String> vars;

        private Builder(String queue) {
            this.queue = queue;
        }

        /** What is sent, as text: at most 262,144 bytes of UTF-8, however they are escaped in JSON; more is 413. Not together with json. */
        public Builder body(String body) {
            this.body = body;
            return this;
        }

        /** Of an order: how long after it was created its payer can pay with the code or page. If the channel knew no such order when it was closed, a late payment is watched for until then; default: the queue's. */
        public Builder codeLife(String codeLife) {
            this.codeLife = codeLife;
            return this;
        }

        /** Wait before the schedule begins, at most 3650d; 0s is now, whatever the queue's delay; a schedule whose first item is not 0s adds that before the first attempt. */
        public Builder delay(String delay) {
            this.delay = delay;
            return this;
        }

        /** When the schedule begins; a schedule whose first item is not 0s adds that before the first attempt. Not together with delay; neither means the queue's delay, or now. */
        public Builder due(Instant due) {
            this.due = due;
            return this;
        }

        public Builder event(String event) {
            this.event = event;
            return this;
        }

        /** Of an order: when nobody paid so long after it was created, the close protocol begins; default: the queue's. */
        public Builder expires(String expires) {
            this.expires = expires;
            return this;
        }

        /** At most 64, of 8,192 bytes each. */
        public Builder headers(Map<String, String> headers) {
            this.headers = headers;
            return this;
        }

        /** What is sent, as any JSON value, byte for byte as given: at most 262,144 bytes; more is 413. Sets Content-Type to application/json unless headers say otherwise. Not together with body. */
        public Builder json(Object json) {
            this.json = json;
            return this;
        }

        /** The caller's own name for the task, unique within its queue, at most 255 bytes. The same key with other content is 409. Default for an order: merchant_no/order_no. */
        public Builder key(String key) {
            this.key = key;
            return this;
        }

        /** No attempt is due later than this after the schedule began: then the task ends instead. An attempt that was due in time is made even when it is late, after downtime or a pause, and one asked for by hand is always made. */
        public Builder maxAge(String maxAge) {
            this.maxAge = maxAge;
            return this;
        }

        public Builder merchantNo(String merchantNo) {
            this.merchantNo = merchantNo;
            return this;
        }

        /** Default POST. */
        public Builder method(String method) {
            this.method = method;
            return this;
        }

        /** Of an order: how the merchant is told how it ended. */
        public Builder notification(Notify notification) {
            this.notification = notification;
            return this;
        }

        /** Of an order: when it was created at the channel; expires and code_life count from it, and so does the age before which the channel lets nobody close it. In the latest 31 days by the server's clock, and at most a minute ahead of it. Default: when bellman was told of it. */
        public Builder orderCreated(Instant orderCreated) {
            this.orderCreated = orderCreated;
            return this;
        }

        public Builder orderNo(String orderNo) {
            this.orderNo = orderNo;
            return this;
        }

        /** Tasks of one queue that have the same ordering key go out in the order in which they were created, each after the one before has ended. At most 255 bytes. Not together with repeat, and not for an order. */
        public Builder orderingKey(String orderingKey) {
            this.orderingKey = orderingKey;
            return this;
        }

        /** A duration, or cron and an expression: the task begins again after it ended, until it is cancelled. The first round begins as due and delay say, so now if neither is given, with cron too: give due for a first round at its time. */
        public Builder repeat(String repeat) {
            this.repeat = repeat;
            return this;
        }

        /** Where another system left the task: its schedule goes on from there. Not together with due or delay, and not for an order. */
        public Builder resume(Resume resume) {
            this.resume = resume;
            return this;
        }

        /** A preset's name or a schedule's text; default: the queue's. */
        public Builder schedule(String schedule) {
            this.schedule = schedule;
            return this;
        }

        /** A preset's name or an expression; default: the queue's. */
        public Builder success(String success) {
            this.success = success;
            return this;
        }

        /** Ends the earlier tasks of its ordering key that wait, instead of waiting for them: they are cancelled, reason superseded, and cannot be sent again. */
        public Builder supersedes(Boolean supersedes) {
            this.supersedes = supersedes;
            return this;
        }

        /** Of one attempt; default: the queue's. */
        public Builder timeout(String timeout) {
            this.timeout = timeout;
            return this;
        }

        /** Where the request goes. Required unless the queue has an address of its own. */
        public Builder url(String url) {
            this.url = url;
            return this;
        }

        /** Of an order: values for the queue's templates, {vars.NAME}. At most 64, of 4,000 characters each; names of letters, digits and _. */
        public Builder vars(Map<String, String> vars) {
            this.vars = vars;
            return this;
        }

        public CreateTask build() {
            return new CreateTask(queue, body, codeLife, delay, due, event, expires, headers, json, key, maxAge, merchantNo, method, notification, orderCreated, orderNo, orderingKey, repeat, resume, schedule, success, supersedes, timeout, url, vars);
        }
    }
}
