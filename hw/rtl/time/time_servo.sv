// Keeps the clock by pulses per second, on a board without software: the first pulse steps it, the second one gives its rate, and from
// then on a controller, proportional and integral, adjusts that. A pulse is of the nearest whole second.
//
// A pulse far from where it should be is not believed; after eight in a row it begins again. Without pulses the last rate stays.
// Model: time_servo. A pulse takes some 200 cycles.
module time_servo
  import time_pkg::*;
#(
    parameter int unsigned ClockHz = 250_000_000
) (
    input logic clk,
    input logic rst,

    input logic run_i,  // else it has no effect, and forgets

    input event_t      event_i,  // the last pulse, by the clock
    input logic [29:0] ns_i,     // of the clock's second: from its middle on no pulse is to come

    output logic [31:0] adjust_o,  // of the rate: 2^-32 ns a cycle, signed

    // A step of the clock: its value stays
    output time_t value_o,
    output logic  step_o,   // pulse

    output logic        locked_o,    // three pulses in a row were within 128 ns, and none has been missing since
    output logic        holdover_o,  // pulses are missing, or not believed
    output logic [31:0] offset_o     // how far ahead the clock was at the last pulse believed, 2^-8 ns, signed
);

  // What a ns a second is for adjust_o, in 2^-48 of it, and how much of an offset is taken a second. As the driver's controller
  localparam logic [63:0] UNIT = (64'd1 << 48) / 64'(ClockHz);
  localparam logic [31:0] PROPORTIONAL = 32'(UNIT * 3 / 10);
  localparam logic [31:0] INTEGRAL = 32'(UNIT / 50);

  // Offsets within +-2^N ns are within the bits below this one
  localparam int unsigned LOCKS = 16 + 7;
  localparam int unsigned BELIEVED = 16 + 10;
  localparam int unsigned BELIEVED_LATE = 16 + 14;  // when pulses were missing
  localparam int unsigned RATES = 16 + 18;
  localparam logic [2:0] GOOD = 3'd3;
  localparam logic [2:0] BAD = 3'd7;

  typedef enum logic [1:0] {
    FREE,   // nothing is known
    RATE,   // a second ago the clock was right
    TRACK
  } phase_e;

  typedef enum logic [2:0] {
    WAIT,
    DIVIDE,
    OFFSET,
    NEGATE,
    JUDGE,
    INTEGRATE,
    ADJUST
  } state_e;

  phase_e phase_q;
  state_e state_q;
  logic [15:0] count_q, fraction_q;
  logic pulse, divided, scaled, half_q, was_half_q, tick, late_q, fits_q, near_q, scale;
  logic signed [46:0] offset_q, back_q;
  logic [31:0] rest;
  logic [63:0] quotient, integral_q, sum;
  logic [1:0] missing_q;
  logic [2:0] good_q, bad_q;
  logic [31:0] factor;

  // Whether it is within +-2^(bit - 16) ns
  function automatic logic in_range(input logic signed [46:0] offset, input int unsigned bits);
    logic signed [46:0] above;
    above = offset >>> bits;
    return above == '0 || &above;
  endfunction

  assign pulse = run_i && state_q == WAIT && event_i.count != count_q;
  assign tick = half_q && !was_half_q;

  serial_divide u_divide (
      .clk,
      .rst,
      .start_i    (pulse),
      .dividend_i (event_i.tai.ns),
      .divisor_i  (SECOND_NS),
      .done_o     (divided),
      .quotient_o (quotient),
      .remainder_o(rest)
  );

  always_comb begin
    scale  = 1'b0;
    factor = PROPORTIONAL;
    if (state_q == JUDGE && fits_q && phase_q != FREE) begin
      scale  = 1'b1;
      factor = phase_q == RATE ? UNIT[31:0] : INTEGRAL;
    end
    if (state_q == INTEGRATE && scaled && phase_q == TRACK) scale = 1'b1;
  end

  serial_scale u_scale (
      .clk,
      .rst,
      .start_i (scale),
      .value_i ({{17{back_q[46]}}, back_q}),
      .factor_i(factor),
      .offset_i(state_q == JUDGE ? integral_q : sum),
      .done_o  (scaled),
      .result_o(sum)
  );

  always_ff @(posedge clk) begin
    half_q <= ns_i >= 30'(SECOND_NS / 2);
    was_half_q <= half_q;
    late_q <= rest >= 32'(SECOND_NS / 2);
    fits_q <= in_range(offset_q, BELIEVED);
    if (phase_q == RATE) fits_q <= in_range(offset_q, RATES);
    else if (holdover_o) fits_q <= in_range(offset_q, BELIEVED_LATE);
    near_q <= in_range(offset_q, LOCKS);
    step_o <= 1'b0;

    if (tick) begin
      if (missing_q != '1) missing_q <= missing_q + 1'b1;
      if (missing_q != '0 && phase_q == RATE) phase_q <= FREE;
      if (missing_q != '0 && phase_q == TRACK) begin
        holdover_o <= 1'b1;
        locked_o <= 1'b0;
        good_q <= '0;
        adjust_o <= integral_q[63:32];
      end
    end

    unique case (state_q)
      WAIT: begin
        count_q <= event_i.count;
        fraction_q <= event_i.tai.fraction;
        if (pulse) state_q <= DIVIDE;
      end
      DIVIDE: if (divided) state_q <= OFFSET;
      OFFSET: begin
        offset_q <= {31'(rest) - (late_q ? 31'(SECOND_NS) : '0), fraction_q};
        state_q  <= NEGATE;
      end
      NEGATE: begin
        back_q  <= -offset_q;
        state_q <= JUDGE;
      end
      JUDGE: begin
        state_q <= scale ? INTEGRATE : WAIT;
        if (fits_q || phase_q == FREE) begin
          missing_q <= '0;
          bad_q <= '0;
        end
        if (scale) offset_o <= offset_q[39:8];
        unique case (phase_q)
          FREE: begin
            step_o  <= 1'b1;
            phase_q <= RATE;
          end
          RATE: if (!fits_q) phase_q <= FREE;
          default: begin
            if (fits_q) begin
              holdover_o <= 1'b0;
              good_q <= near_q ? good_q + 3'(good_q != GOOD) : '0;
              if (near_q && good_q == GOOD - 1'b1) locked_o <= 1'b1;
            end else begin
              bad_q <= bad_q + 1'b1;
              if (bad_q == BAD) begin
                phase_q <= FREE;
                locked_o <= 1'b0;
                good_q <= '0;
              end
            end
          end
        endcase
      end
      INTEGRATE:
      if (scaled) begin
        integral_q <= sum;
        phase_q <= TRACK;
        if (phase_q == RATE) begin
          adjust_o <= sum[63:32];
          step_o   <= 1'b1;
          state_q  <= WAIT;
        end else begin
          state_q <= ADJUST;
        end
      end
      default:
      if (scaled) begin
        adjust_o <= sum[63:32];
        state_q  <= WAIT;
      end
    endcase

    if (rst || !run_i) begin
      state_q <= WAIT;
      phase_q <= FREE;
      integral_q <= '0;
      adjust_o <= '0;
      offset_o <= '0;
      missing_q <= '0;
      good_q <= '0;
      bad_q <= '0;
      step_o <= 1'b0;
      locked_o <= 1'b0;
      holdover_o <= 1'b0;
    end
  end

  // Back by the offset: where that is above zero, a second less and what is left of it
  assign value_o = '{
          seconds: {48{back_q[46]}},
          ns: 30'(back_q[46:16]) + (back_q[46] ? 30'(SECOND_NS) : '0),
          fraction: {back_q[15:0], 16'b0}
      };

  logic unused;
  assign unused = ^quotient;

endmodule
