// The registers of the time unit (docs/integrating/time_registers.md). They lie behind those of the transmitter, on the same bus: an
// access to those is answered here too, with 0. Stays out of the core's reset.
module time_registers
  import axi_pkg::*;
  import framelane_pkg::time_flags_t;
  import time_pkg::*;
  import time_regs_pkg::*;
#(
    parameter int unsigned ClockHz  = 250_000_000,
    parameter bit          Frames   = 1'b1,
    parameter bit          Servo    = 1'b0,
    parameter int unsigned QueueLog = 3
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite
    input  axil_request_t  s_axil_i,
    output axil_response_t s_axil_o,

    output time_control_t control_o,
    output time_flags_t   quality_o,  // what the clock is worth
    input  time_report_t  report_i,

    // Pulses per second, where they keep the clock
    output logic        manual_o,          // software keeps it
    input  logic        servo_locked_i,
    input  logic        servo_holdover_i,
    input  logic [31:0] servo_offset_i     // 2^-8 ns, signed
);

  // Addresses, in the map of all
  localparam logic [7:0] REGS = 8'hd0;  // addr[15:8]
  localparam logic [8:0] RECEIVED = 9'h1a4;  // addr[15:7]
  localparam logic [8:0] SENT = 9'h1a6;
  localparam int unsigned MESSAGE_BYTES = 128;
  localparam int unsigned ANSWER = 5;  // cycles from a request to its answer: a received word comes after four
  localparam int unsigned TICK_W = $clog2(ClockHz);

  // An access of 32 bits.
  typedef struct packed {
    logic        write;
    logic [15:0] addr;
    logic [31:0] data;
  } access_t;

  logic req, req_q, is_regs, is_received_q;
  logic [ANSWER-1:0] answer_q;
  (* keep, dont_merge *)logic [3:0] writes_q;  // copies of whether it writes, for a part of the registers each
  access_t asked, access_q;
  logic [31:0] mask;
  (* keep, dont_merge *)logic [7:0] strobes_q;  // the mask, for half a byte of each register each
  (* keep, dont_merge *)logic [TIME_REGS_MIN_ADDR_WIDTH-1:0] high_addr_q;  // for the upper half of reads
  logic [31:0] write_mask, regs_data, regs_data_q, read_data_q;
  logic [5:0] unused;
  time_regs__in_t regs_in;
  time_regs__out_t regs;

  axil_port u_port (
      .clk,
      .rst,
      .s_axil_i,
      .s_axil_o,
      .req_o  (req),
      .write_o(asked.write),
      .addr_o (asked.addr),
      .data_o (asked.data),
      .mask_o (mask),
      .ack_i  (answer_q[ANSWER-1]),
      .data_i (read_data_q)
  );

  for (genvar k = 0; k < 8; k++) begin : gen_strobes
    assign write_mask[4*k+:4] = {4{strobes_q[k]}};
  end

  assign is_regs = req_q && access_q.addr[15:8] == REGS;

  // The request stays as it is until it is answered, and so does a received word's index.
  always_ff @(posedge clk) begin
    req_q <= req;
    access_q <= asked;
    // A copy asks whether it changes: tools make one of equal ones.
    for (int unsigned k = 0; k < 4; k++) if (rst || writes_q[k] != asked.write) writes_q[k] <= asked.write;
    for (int unsigned k = 0; k < 8; k++) if (rst || strobes_q[k] != mask[4*k]) strobes_q[k] <= mask[4*k];
    for (int unsigned k = 0; k < TIME_REGS_MIN_ADDR_WIDTH; k++)
      if (rst || high_addr_q[k] != asked.addr[k]) high_addr_q[k] <= asked.addr[k];
    answer_q <= {answer_q[ANSWER-2:0], req};
    if (req_q) regs_data_q <= is_regs ? regs_data : '0;
    is_received_q <= access_q.addr[15:7] == RECEIVED;
    read_data_q <= is_received_q ? report_i.rx_word : regs_data_q;
    if (rst) begin
      req_q <= 1'b0;
      answer_q <= '0;
    end
  end

  time_regs u_regs (
      .clk,
      .rst,
      .s_cpuif_req         (is_regs),
      .s_cpuif_req_is_wr   (writes_q),
      .s_cpuif_addr        (access_q.addr[TIME_REGS_MIN_ADDR_WIDTH-1:0]),
      .s_cpuif_high_addr   (high_addr_q),
      .s_cpuif_wr_data     (access_q.data),
      .s_cpuif_wr_biten    (write_mask),
      .s_cpuif_req_stall_wr(unused[0]),
      .s_cpuif_req_stall_rd(unused[1]),
      .s_cpuif_rd_ack      (unused[2]),
      .s_cpuif_rd_err      (unused[3]),
      .s_cpuif_rd_data     (regs_data),
      .s_cpuif_wr_ack      (unused[4]),
      .s_cpuif_wr_err      (unused[5]),
      .hwif_in             (regs_in),
      .hwif_out            (regs)
  );

  // A lock that nobody says again lapses.
  logic [TICK_W-1:0] tick_q;
  logic [15:0] age_q;  // seconds
  logic told, expired_q, lapsed_q;

  assign told = regs.quality.locked.swmod;

  always_ff @(posedge clk) begin
    if (tick_q == TICK_W'(ClockHz - 1)) begin
      tick_q <= '0;
      age_q  <= age_q + 1'b1;
    end else begin
      tick_q <= tick_q + 1'b1;
    end
    expired_q <= regs.quality_limit.value.value != '0 && age_q >= regs.quality_limit.value.value;
    if (expired_q && regs.quality.locked.value) lapsed_q <= 1'b1;
    if (told || !regs.quality.locked.value) begin
      tick_q <= '0;
      age_q <= '0;
      expired_q <= 1'b0;
    end
    if (told || rst) lapsed_q <= 1'b0;
  end

  // The time that is read
  time_t now_q;
  always_ff @(posedge clk) if (regs.command.capture.value) now_q <= report_i.now;

  logic by_pulses;
  assign by_pulses = Servo && !regs.control.manual.value;
  assign manual_o = regs.control.manual.value;

  assign quality_o = '{
          tai_utc: regs.quality.tai_utc.value,
          accuracy: regs.quality.accuracy.value,
          reserved: 1'b0,
          of_trigger: 1'b0,
          holdover: by_pulses ? servo_holdover_i : regs.quality.holdover.value,
          utc_known: regs.quality.utc_known.value,
          source: by_pulses ? 2'd2 : regs.quality.source.value,
          locked: by_pulses ? servo_locked_i : regs.quality.locked.value,
          stamped: 1'b0
      };

  assign control_o = '{
          rate: '{
              period: regs.period.value.value,
              adjust: regs.adjust.value.value,
              numerator: regs.remainder.numerator.value,
              denominator: regs.remainder.denominator.value,
              slew_rate: regs.slew_rate.value.value
          },
          value: '{
              seconds: regs.value_seconds.value.value,
              ns: regs.value.ns.value,
              fraction: regs.value.fraction.value
          },
          set: regs.command.set.value,
          step: regs.command.step.value,
          amount: regs.slew.value.value,
          slew: regs.command.slew.value,
          pps: regs.control.pps.value,
          frames: regs.control.frames.value,
          own_period: regs.period.value.value[39:8],
          rx_period: regs.rx_period.value.value,
          rx_latency: regs.rx_latency.value.value,
          tx_period: regs.tx_period.value.value,
          tx_latency: regs.tx_latency.value.value,
          pixel_period: regs.pixel_period.value.value,
          pixel_latency: regs.pixel_latency.value.value,
          trigger_latency: regs.trigger_latency.value.value,
          pps_latency: regs.pps_latency.value.value,
          receive: regs.control.receive.value,
          next: regs.command.next.value,
          send: regs.command.send.value,
          bytes: regs.tx_message.bytes.value,
          word_write: req_q && access_q.write && access_q.addr[15:7] == SENT,
          word_index: access_q.addr[6:2],
          word: access_q.data
      };

  always_comb begin
    regs_in.sizes = '{
        messages: '{next: 1'b1},
        frames: '{next: Frames},
        servo: '{next: Servo},
        queue_log2: '{next: 4'(QueueLog)},
        message_bytes: '{next: 8'(MESSAGE_BYTES)}
    };
    regs_in.clock_hz.value.next = ClockHz;
    regs_in.status = '{
        stepping: '{next: report_i.stepping},
        slewing: '{next: report_i.slewing},
        sending: '{next: report_i.sending},
        lapsed: '{next: lapsed_q}
    };
    regs_in.quality.locked = '{next: regs.quality.locked.value, hwclr: expired_q && !told};
    regs_in.now_seconds.value.next = now_q.seconds;
    regs_in.now = '{fraction: '{next: now_q.fraction}, ns: '{next: now_q.ns}};
    regs_in.trigger_tai.value.next = report_i.trigger.tai.ns;
    regs_in.trigger_event = '{
        fraction: '{next: report_i.trigger.tai.fraction},
        count: '{next: report_i.trigger.count}
    };
    regs_in.pps_tai.value.next = report_i.pps.tai.ns;
    regs_in.pps_event = '{fraction: '{next: report_i.pps.tai.fraction}, count: '{next: report_i.pps.count}};
    regs_in.rx_message = '{
        valid: '{next: report_i.rx_valid},
        bytes: '{next: report_i.rx_bytes},
        lost: '{next: report_i.rx_lost}
    };
    regs_in.rx_tai.value.next = report_i.rx.ns;
    regs_in.rx_event.fraction.next = report_i.rx.fraction;
    regs_in.tx_tai.value.next = report_i.tx.tai.ns;
    regs_in.tx_event = '{fraction: '{next: report_i.tx.tai.fraction}, count: '{next: report_i.tx.count}};
    regs_in.servo = '{locked: '{next: servo_locked_i}, holdover: '{next: servo_holdover_i}};
    regs_in.servo_offset.value.next = servo_offset_i;
  end

endmodule
