// Arms and resets the transmitter. A reset waits until nothing is under way: memory and the Ethernet core never see half a
// transfer. It takes as long as those take to finish.
// The core's reset is there in several copies, always equal, each for a part of it.
module tx_control #(
    parameter int unsigned Copies = 1
) (
    input logic clk,
    input logic rst, // resets the core without waiting

    // Commands
    input  logic arm_i,       // as long as frames shall be sent
    input  logic reset_i,     // in any cycle; while a reset is under way it does nothing
    output logic armed_o,
    output logic resetting_o,

    // The core
    input  logic idle_i,
    output logic [Copies-1:0] core_rst_o,

    // Counters and errors
    output logic clear_o,        // once in a reset
    input  logic clear_busy_i
);

  localparam int unsigned IDLE_CYCLES = 8;  // so long must the core be idle: what passes between blocks has arrived
  localparam int unsigned RESET_CYCLES = 4;
  localparam int unsigned COUNT_W = 3;

  typedef enum logic [1:0] {
    RUN,
    DRAIN,  // until the core has been idle for some cycles
    RESET,  // the core is held in reset
    CLEAR   // until the counters are zero
  } state_e;

  state_e state_q, state_d;
  logic [COUNT_W-1:0] count_q, count_d;
  (* keep, dont_merge *)logic [Copies-1:0] core_rst_q = '1;  // an FPGA starts in reset

  assign core_rst_o = core_rst_q;

  always_comb begin
    state_d = state_q;
    count_d = '0;
    clear_o = 1'b0;
    unique case (state_q)
      RUN: if (reset_i) state_d = DRAIN;
      DRAIN: begin
        if (idle_i) count_d = count_q + 1'b1;
        if (idle_i && count_q == COUNT_W'(IDLE_CYCLES - 1)) begin
          state_d = RESET;
          count_d = '0;
        end
      end
      RESET: begin
        count_d = count_q + 1'b1;
        if (count_q == COUNT_W'(RESET_CYCLES - 1)) begin
          state_d = CLEAR;
          clear_o = 1'b1;
        end
      end
      CLEAR: if (!clear_busy_i) state_d = RUN;
    endcase
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    count_q <= count_d;
    // A copy asks whether it changes: tools make one of equal ones.
    for (int unsigned c = 0; c < Copies; c++) begin
      if (core_rst_q[c] != (state_d == RESET)) core_rst_q[c] <= state_d == RESET;
    end
    if (rst) begin
      state_q <= RESET;
      count_q <= '0;
      core_rst_q <= '1;
    end
  end

  assign resetting_o = state_q != RUN || reset_i;
  assign armed_o = arm_i && !resetting_o;

endmodule
