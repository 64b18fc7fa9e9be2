// The registers of the transmitter (docs/registers.md) and what stands behind them: tables, counters, commands.
// Wiring, and sticky errors. Stays out of the core's reset, which it drives.
module registers
  import framelane_pkg::*;
  import roce_pkg::*;
  import tx_regs_pkg::*;
#(
    parameter int unsigned DataW        = 512,
    parameter int unsigned NumQp        = 16,
    parameter int unsigned Flows        = 4,
    parameter int unsigned Destinations = 16,
    parameter int unsigned ClockHz      = 0,
    parameter int unsigned Build        = 0,
    parameter bit          FrameStore   = 1'b0,
    parameter bit          Correct      = 1'b0
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite
    input  logic [15:0] s_axil_awaddr,
    input  logic [ 2:0] s_axil_awprot,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [15:0] s_axil_araddr,
    input  logic [ 2:0] s_axil_arprot,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,

    // The core
    output logic core_rst_o,
    output logic armed_o,
    output logic resetting_o,
    input  logic idle_i,

    // This end, and the frame store
    output logic [47:0] local_mac_o,
    output logic [31:0] local_ip_o,
    output logic [63:0] store_base_o,
    output logic [31:0] store_slot_bytes_o,
    output logic [15:0] store_slots_o,
    output correction_t correction_o,

    // The QP table
    output qp_write_t m_axis_qp_tdata,
    output logic      m_axis_qp_tvalid,
    input  logic      m_axis_qp_tready,

    // Entries of the tables, a cycle after their index; of one that is not there all is 0
    input  logic         [7:0] flow_index_i,
    output flow_t              flow_o,
    input  logic         [7:0] destination_index_i,
    output destination_t       destination_o,

    // What is counted; pulse 0 counts all cycles in any case
    input  logic   [PULSES-1:0] pulse_i,
    input  count_t              s_axis_count_tdata,
    input  logic                s_axis_count_tvalid,
    output logic                s_axis_count_tready,

    // A frame is refused
    input logic     refusal_valid_i,
    input refusal_t refusal_i
);

  localparam int unsigned REGS_BYTES = 1 << TX_REGS_MIN_ADDR_WIDTH;
  localparam int unsigned FLOW_WORDS = $bits(flow_t) / 32;
  localparam int unsigned DESTINATION_WORDS = $bits(destination_t) / 32;
  localparam int unsigned DESTINATION_HELD = 6;  // low word of window_end
  localparam int unsigned QP_WORDS = 10;

  tx_regs__in_t  regs_in;
  tx_regs__out_t regs;

  typedef enum logic [2:0] {
    REGS,
    FLOWS,
    DESTINATIONS,
    QPS,
    COUNTS,
    NOWHERE
  } place_e;

  function automatic place_e place_of(input logic [15:0] address);
    unique case (address[15:12])
      4'h0: return address < 16'(REGS_BYTES) ? REGS : NOWHERE;
      4'h1: return FLOWS;
      4'h2, 4'h3: return DESTINATIONS;
      4'h4, 4'h5, 4'h6, 4'h7: return QPS;
      4'h8, 4'h9, 4'ha, 4'hb: return COUNTS;
      default: return NOWHERE;
    endcase
  endfunction

  // The bus
  logic req, req_write, ack_q;
  place_e place;
  logic [15:0] req_addr;  // the whole request stays until it is answered
  logic [31:0] req_data, req_mask, read_data;

  assign place = place_of(req_addr);

  axil_port u_port (
      .clk,
      .rst,
      .s_axil_awaddr,
      .s_axil_awprot,
      .s_axil_awvalid,
      .s_axil_awready,
      .s_axil_wdata,
      .s_axil_wstrb,
      .s_axil_wvalid,
      .s_axil_wready,
      .s_axil_bresp,
      .s_axil_bvalid,
      .s_axil_bready,
      .s_axil_araddr,
      .s_axil_arprot,
      .s_axil_arvalid,
      .s_axil_arready,
      .s_axil_rdata,
      .s_axil_rresp,
      .s_axil_rvalid,
      .s_axil_rready,
      .req_o  (req),
      .write_o(req_write),
      .addr_o (req_addr),
      .data_o (req_data),
      .mask_o (req_mask),
      .ack_i  (ack_q),
      .data_i (read_data)
  );

  // It answers at once, and fails no access.
  logic [5:0] unused;
  logic [31:0] regs_data;

  tx_regs u_regs (
      .clk,
      .rst,
      .s_cpuif_req         (req && place == REGS),
      .s_cpuif_req_is_wr   (req_write),
      .s_cpuif_addr        (req_addr[TX_REGS_MIN_ADDR_WIDTH-1:0]),
      .s_cpuif_wr_data     (req_data),
      .s_cpuif_wr_biten    (req_mask),
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

  assign local_mac_o = regs.local_mac.value.value;
  assign local_ip_o = regs.local_ip.value.value;
  assign store_base_o = regs.store_base.value.value;
  assign store_slot_bytes_o = regs.store_slot_bytes.value.value;
  assign store_slots_o = regs.store_slots.value.value;
  assign correction_o = '{
          offset: regs.corrected_offset.value.value,
          image_bytes: regs.constants_bytes.value.value,
          pitch: regs.constants_pitch.value.value,
          base: regs.constants_base.value.value,
          shift: {
            regs.correction.shift2.value, regs.correction.shift1.value, regs.correction.shift0.value
          },
          guard: regs.correction.guard.value,
          high_gain: regs.correction.high_gain.value,
          enabled: regs.correction.enabled.value && Correct
      };

  // Commands
  logic resetting, clear, counters_busy, qp_busy;
  assign resetting_o = resetting;

  tx_control u_control (
      .clk,
      .rst,
      .arm_i       (regs.control.arm.value),
      .reset_i     (regs.command.reset.value),
      .armed_o,
      .resetting_o (resetting),
      .idle_i      (idle_i && !qp_busy),
      .core_rst_o,
      .clear_o     (clear),
      .clear_busy_i(counters_busy)
  );

  // Where an access goes. It is answered in the next cycle; a write to a QP waits until the last one that was committed is in
  // force.
  logic whole, qp_asked, qp_waits_q, qp_write;
  logic [31:0] regs_data_q, flow_data, destination_data, qp_data, count_data;
  logic [QP_WORDS-1:0][31:0] qp_words;
  logic [7:0] commit_index;

  assign whole = req_mask == '1;
  assign qp_asked = qp_waits_q || (req && req_write && place == QPS);
  assign qp_write = qp_asked && whole && !qp_busy;

  always_ff @(posedge clk) begin
    regs_data_q <= regs_data;
    qp_waits_q <= qp_asked && qp_busy;
    ack_q <= (req || qp_waits_q) && !(qp_asked && qp_busy);
    if (rst) begin
      qp_waits_q <= 1'b0;
      ack_q <= 1'b0;
    end
  end

  always_comb begin
    unique case (place)
      REGS: read_data = regs_data_q;
      FLOWS: read_data = flow_data;
      DESTINATIONS: read_data = destination_data;
      QPS: read_data = qp_data;
      COUNTS: read_data = count_data;
      default: read_data = '0;
    endcase
  end

  config_table #(
      .Entries(Flows),
      .Words  (FLOW_WORDS)
  ) u_flows (
      .clk,
      .write_i      (req && req_write && place == FLOWS && whole),
      .index_i      (8'(req_addr[11:6])),
      .word_i       (req_addr[5:2]),
      .data_i       (req_data),
      .data_o       (flow_data),
      .entry_index_i(flow_index_i),
      .entry_o      (flow_o)
  );

  config_table #(
      .Entries(Destinations),
      .Words  (DESTINATION_WORDS),
      .Held   (DESTINATION_HELD)
  ) u_destinations (
      .clk,
      .write_i      (req && req_write && place == DESTINATIONS && whole),
      .index_i      (req_addr[12:5]),
      .word_i       (req_addr[4:2]),
      .data_i       (req_data),
      .data_o       (destination_data),
      .entry_index_i(destination_index_i),
      .entry_o      (destination_o)
  );

  config_table #(
      .Entries(NumQp),
      .Words  (QP_WORDS)
  ) u_qps (
      .clk,
      .write_i      (qp_write),
      .index_i      (req_addr[13:6]),
      .word_i       (req_addr[5:2]),
      .data_i       (req_data),
      .data_o       (qp_data),
      .entry_index_i(commit_index),
      .entry_o      (qp_words)
  );

  qp_commit u_commit (
      .clk,
      .rst,
      .commit_i(qp_write && req_addr[5:2] == '0 && 9'(req_addr[13:6]) < 9'(NumQp) && !resetting),
      .index_i (req_addr[13:6]),
      .busy_o  (qp_busy),
      .index_o (commit_index),
      .words_i (qp_words),
      .m_axis_qp_tdata,
      .m_axis_qp_tvalid,
      .m_axis_qp_tready
  );

  counters #(
      .Destinations(Destinations)
  ) u_counters (
      .clk,
      .rst,
      .pulse_i   (pulse_i | PULSES'(1'b1)),
      .s_axis_count_tdata,
      .s_axis_count_tvalid,
      .s_axis_count_tready,
      .snapshot_i(regs.command.snapshot.value),
      .clear_i   (clear),
      .busy_o    (counters_busy),
      .index_i   (req_addr[13:3]),
      .high_i    (req_addr[2]),
      .data_o    (count_data)
  );

  // Errors
  logic counted;
  logic [1:0] counter;  // of a destination
  refusal_t refusal_q;

  assign counted = s_axis_count_tvalid && s_axis_count_tready && s_axis_count_tdata.index >= COUNT_DESTINATION;
  assign counter = s_axis_count_tdata.index[1:0];

  always_ff @(posedge clk) begin
    if (refusal_valid_i && !regs.errors.refused.value) refusal_q <= refusal_i;
    if (rst || clear) refusal_q <= '0;
  end

  always_comb begin
    regs_in.capabilities = '{
        data_width: '{next: 12'(DataW)},
        frame_store: '{next: FrameStore},
        correction: '{next: Correct}
    };
    regs_in.sizes = '{
        qps: '{next: 9'(NumQp)},
        flows: '{next: 4'(Flows)},
        destinations: '{next: 9'(Destinations)}
    };
    regs_in.clock_hz.value.next = ClockHz;
    regs_in.build.value.next = Build;
    regs_in.control.arm.hwclr = resetting;
    regs_in.status = '{
        idle: '{next: idle_i},
        armed: '{next: armed_o},
        resetting: '{next: resetting},
        snapshot_busy: '{next: counters_busy},
        qp_busy: '{next: qp_busy || qp_waits_q}
    };
    regs_in.errors.no_credit = '{hwclr: clear, hwset: counted && counter == 2'(DESTINATION_DROPPED)};
    regs_in.errors.skipped = '{hwclr: clear, hwset: counted && counter == 2'(DESTINATION_SKIPPED)};
    regs_in.errors.refused = '{hwclr: clear, hwset: refusal_valid_i};
    regs_in.errors.frame_lost = '{hwclr: clear, hwset: pulse_i[3]};
    regs_in.errors.bad_qp = '{hwclr: clear, hwset: pulse_i[8]};
    regs_in.errors.bad_length = '{hwclr: clear, hwset: pulse_i[9]};
    regs_in.errors.too_short = '{hwclr: clear, hwset: pulse_i[10]};
    regs_in.errors.too_long = '{hwclr: clear, hwset: pulse_i[11]};
    regs_in.errors.bad_payload = '{hwclr: clear, hwset: pulse_i[12]};
    regs_in.errors.read_error = '{hwclr: clear, hwset: pulse_i[13]};
    regs_in.errors.frame_bad = '{hwclr: clear, hwset: pulse_i[14]};
    regs_in.errors.mismatch = '{hwclr: clear, hwset: pulse_i[15]};
    regs_in.errors.constant_error = '{hwclr: clear, hwset: pulse_i[16]};
    regs_in.refusal = '{
        reason: '{next: refusal_q.reason},
        flow: '{next: refusal_q.flow},
        destination: '{next: refusal_q.destination}
    };
    regs_in.refusal_frame.value.next = refusal_q.number;
  end

endmodule
