// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * PutMerchant, as the API has it. What is null is left out.
 *
 * @param merchantNo see the API
 * @param name A name for people. The search matches its beginning.
 * @param notifyUrl Destination of tasks that name this merchant and no url. It is looked up at each attempt.
 * @param perEndpoint Limits of the merchant's endpoint. If several merchants share an endpoint, the strictest limit holds.
 * @param reason Written to the audit record. In a batch, the reason of the batch is written instead.
 * @param schedule Schedule for tasks without one: the name of a preset, or a text. It is looked up after each attempt, so a change also holds for existing tasks.
 * @param sign Signature of requests to the merchant. It is looked up at each attempt. Default: the queue's.
 * @param success Success rule for tasks without one: the name of a preset, or an expression. It is looked up at each attempt.
 * @param timeout Timeout of one attempt, 1ms to 10m, for tasks without one. It is looked up at each attempt.
 * @param version The version of an earlier answer: if the merchant has another version now, the answer is 409 and nothing changes. none: the merchant must not exist. Default: no check.
 */
public record PutMerchant(
        String merchantNo,
        String name,
        String notifyUrl,
        MerchantLimits perEndpoint,
        String reason,
        String schedule,
        MerchantSign sign,
        String success,
        String timeout,
        String version) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "merchant_no", merchantNo,
                "name", name,
                "notify_url", notifyUrl,
                "per_endpoint", perEndpoint,
                "reason", reason,
                "schedule", schedule,
                "sign", sign,
                "success", success,
                "timeout", timeout,
                "version", version);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a PutMerchant has. It is of one thread. */
    public static final class Builder {
        private String merchantNo;
        private String name;
        private String notifyUrl;
        private MerchantLimits perEndpoint;
        private String reason;
        private String schedule;
        private MerchantSign sign;
        private String success;
        private String timeout;
        private String version;

        private Builder() {
        }

        public Builder merchantNo(String merchantNo) {
            this.merchantNo = merchantNo;
            return this;
        }

        /** A name for people. The search matches its beginning. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** Destination of tasks that name this merchant and no url. It is looked up at each attempt. */
        public Builder notifyUrl(String notifyUrl) {
            this.notifyUrl = notifyUrl;
            return this;
        }

        /** Limits of the merchant's endpoint. If several merchants share an endpoint, the strictest limit holds. */
        public Builder perEndpoint(MerchantLimits perEndpoint) {
            this.perEndpoint = perEndpoint;
            return this;
        }

        /** Written to the audit record. In a batch, the reason of the batch is written instead. */
        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        /** Schedule for tasks without one: the name of a preset, or a text. It is looked up after each attempt, so a change also holds for existing tasks. */
        public Builder schedule(String schedule) {
            this.schedule = schedule;
            return this;
        }

        /** Signature of requests to the merchant. It is looked up at each attempt. Default: the queue's. */
        public Builder sign(MerchantSign sign) {
            this.sign = sign;
            return this;
        }

        /** Success rule for tasks without one: the name of a preset, or an expression. It is looked up at each attempt. */
        public Builder success(String success) {
            this.success = success;
            return this;
        }

        /** Timeout of one attempt, 1ms to 10m, for tasks without one. It is looked up at each attempt. */
        public Builder timeout(String timeout) {
            this.timeout = timeout;
            return this;
        }

        /** The version of an earlier answer: if the merchant has another version now, the answer is 409 and nothing changes. none: the merchant must not exist. Default: no check. */
        public Builder version(String version) {
            this.version = version;
            return this;
        }

        public PutMerchant build() {
            return new PutMerchant(merchantNo, name, notifyUrl, perEndpoint, reason, schedule, sign, success, timeout, version);
        }
    }
}
