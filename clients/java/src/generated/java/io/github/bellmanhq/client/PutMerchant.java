// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * PutMerchant, as the API has it. What is null is left out.
 *
 * @param merchantNo see the API
 * @param name For people; found by how it begins.
 * @param notifyUrl Where tasks go that name this merchant and no url, as it stands at each attempt.
 * @param perEndpoint What the merchant's endpoint gets at most. Where several merchants share one, the strictest holds.
 * @param reason Goes into the audit record. Of a batch, only the batch's counts.
 * @param schedule A preset's name or a schedule's text, for tasks that give none. Looked at after each attempt: a change holds for tasks that exist too.
 * @param sign How what is sent to the merchant is signed, at each attempt; left out: as the queue says.
 * @param success A preset's name or an expression, for tasks that give none. Looked at at each attempt.
 * @param timeout Of one attempt, 1ms to 10m, for tasks that give none. Looked at at each attempt.
 * @param version What an answer gave: if the merchant is of another version by now, 409, and nothing is changed. none: there must be no such merchant yet. Left out: whatever there is.
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

        /** For people; found by how it begins. */
        public Builder name(String name) {
            this.name = name;
            return this;
        }

        /** Where tasks go that name this merchant and no url, as it stands at each attempt. */
        public Builder notifyUrl(String notifyUrl) {
            this.notifyUrl = notifyUrl;
            return this;
        }

        /** What the merchant's endpoint gets at most. Where several merchants share one, the strictest holds. */
        public Builder perEndpoint(MerchantLimits perEndpoint) {
            this.perEndpoint = perEndpoint;
            return this;
        }

        /** Goes into the audit record. Of a batch, only the batch's counts. */
        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        /** A preset's name or a schedule's text, for tasks that give none. Looked at after each attempt: a change holds for tasks that exist too. */
        public Builder schedule(String schedule) {
            this.schedule = schedule;
            return this;
        }

        /** How what is sent to the merchant is signed, at each attempt; left out: as the queue says. */
        public Builder sign(MerchantSign sign) {
            this.sign = sign;
            return this;
        }

        /** A preset's name or an expression, for tasks that give none. Looked at at each attempt. */
        public Builder success(String success) {
            this.success = success;
            return this;
        }

        /** Of one attempt, 1ms to 10m, for tasks that give none. Looked at at each attempt. */
        public Builder timeout(String timeout) {
            this.timeout = timeout;
            return this;
        }

        /** What an answer gave: if the merchant is of another version by now, 409, and nothing is changed. none: there must be no such merchant yet. Left out: whatever there is. */
        public Builder version(String version) {
            this.version = version;
            return this;
        }

        public PutMerchant build() {
            return new PutMerchant(merchantNo, name, notifyUrl, perEndpoint, reason, schedule, sign, success, timeout, version);
        }
    }
}
