// Registers of detector_tx (docs/integrating/detector_registers.md) and what is behind them: its queue pair, counters, commands.
// Wiring. Stays out of the core's reset, which it drives.
module det_registers
  import axi_pkg::*;
  import det_counters_pkg::*;
  import det_pkg::*;
  import det_regs_pkg::*;
  import framelane_pkg::correction_t;
  import framelane_pkg::count_t;
  import neighbour_pkg::*;
  import roce_pkg::*;
#(
    parameter int unsigned DataW       = 512,
    parameter int unsigned Modules     = 8,
    parameter int unsigned Packets     = 128,
    parameter int unsigned PacketBytes = 8192,
    parameter int unsigned ClockHz     = 0,
    parameter int unsigned Build       = 0,
    parameter bit          Correct     = 1'b0,  // 0: nothing of the correction is there
    parameter int unsigned Links       = 0      // 0: nothing of their counters is there
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite
    input  axil_request_t  s_axil_i,
    output axil_response_t s_axil_o,

    // The core
    output logic [       1:0] core_rst_o,  // always equal: for detector_core, for roce_tx
    output logic              armed_o,
    input  logic              idle_i,
    output target_t           target_o,
    output logic       [15:0] first_port_o,
    output logic              two_ports_o,
    output logic       [ 7:0] modules_o,
    output logic       [63:0] window_end_o,
    output logic       [15:0] timeout_o,
    output logic              tick_o,        // pulse
    input  det_pulses_t       pulses_i,      // cycles are in any case

    // The correction; without Correct 0
    output correction_t        correction_o,
    output logic        [15:0] memory_limit_o,
    input  logic               constant_error_i,  // pulse

    // The station, which lives through resets of the core
    output neighbour_config_t station_o,
    output logic              announce_o,  // pulse
    input  logic              link_up_i,

    // The links: whether they are up, and pulses of which the uppermost are the line's
    input logic [  7:0] links_up_i,
    input logic [Links:0] link_frame_i,
    input logic [Links:0] link_bad_i,
    input logic [Links:0] link_lost_i,

    // The QP table
    output qp_write_t m_axis_qp_tdata,
    output logic      m_axis_qp_tvalid,
    input  logic      m_axis_qp_tready
);

  localparam int unsigned QP_WORDS = 10;
  localparam int unsigned COUNTERS = 17;  // more than there are pulses
  localparam int unsigned TICK_LOG2 = 12;
  localparam logic [23:0] CLOCKS_PER_MS = ClockHz < 1000 ? 24'd1 : 24'(ClockHz / 1000);

  // Pages of 4 KiB
  typedef enum logic [3:0] {
    REGS = 4'd0,
    QP = 4'd1,
    COUNTS = 4'd2,
    CORRECTION = 4'd3,
    LINKS = 4'd4
  } page_e;

  det_regs__in_t  regs_in;
  det_regs__out_t regs;

  // The bus: an access stays until it is answered, three cycles later.
  logic req, req_write, ack_q, low;
  logic [1:0] answer_q;
  logic [5:0] unused;
  logic [15:0] addr;
  logic [31:0] data, mask, regs_data, regs_data_q, qp_data_q, count_data, correction_data;
  logic [31:0] link_data, read_data_q;

  axil_port u_port (
      .clk,
      .rst,
      .s_axil_i,
      .s_axil_o,
      .req_o  (req),
      .write_o(req_write),
      .addr_o (addr),
      .data_o (data),
      .mask_o (mask),
      .ack_i  (ack_q),
      .data_i (read_data_q)
  );

  assign low = addr[11:DET_REGS_MIN_ADDR_WIDTH] == '0;

  det_regs u_regs (
      .clk,
      .rst,
      .s_cpuif_req         (req && addr[15:12] == REGS && low),
      .s_cpuif_req_is_wr   ({4{req_write}}),
      .s_cpuif_addr        (addr[DET_REGS_MIN_ADDR_WIDTH-1:0]),
      .s_cpuif_wr_data     (data),
      .s_cpuif_wr_biten    (mask),
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

  // The queue pair: words of which the first puts all into force
  logic [QP_WORDS-1:0][31:0] qp_q;
  logic [7:0] qp_index;
  logic qp_write, qp_busy, resetting, clear, counts_busy, links_busy;

  assign qp_write = req && req_write && addr[15:12] == QP && low && mask == '1 && !qp_busy;

  always_ff @(posedge clk) begin
    for (int unsigned w = 0; w < QP_WORDS; w++) if (qp_write && addr[6:2] == 5'(w)) qp_q[w] <= data;
    if (rst) qp_q[0] <= '0;
  end

  qp_commit u_commit (
      .clk,
      .rst,
      .commit_i(qp_write && addr[6:2] == '0 && !resetting),
      .index_i ('0),
      .busy_o  (qp_busy),
      .index_o (qp_index),
      .words_i (qp_q),
      .m_axis_qp_tdata,
      .m_axis_qp_tvalid,
      .m_axis_qp_tready
  );

  tx_control #(
      .Copies(2)
  ) u_control (
      .clk,
      .rst,
      .arm_i       (regs.control.arm.value),
      .reset_i     (regs.command.reset.value),
      .armed_o,
      .resetting_o (resetting),
      .idle_i      (idle_i && !qp_busy),
      .core_rst_o,
      .clear_o     (clear),
      .clear_busy_i(counts_busy || links_busy)
  );

  det_pulses_t pulses_q, pulses;
  count_t none;
  logic count_ready;

  assign none = '0;

  always_comb begin
    pulses = pulses_q;
    pulses.cycles = 1'b1;
  end

  counters #(
      .Counters(COUNTERS),
      .Pulses  ($bits(det_pulses_t))
  ) u_counters (
      .clk,
      .rst,
      .pulse_i            (pulses),
      .s_axis_count_tdata (none),
      .s_axis_count_tvalid(1'b0),
      .s_axis_count_tready(count_ready),
      .snapshot_i         (regs.command.snapshot.value),
      .clear_i            (clear),
      .busy_o             (counts_busy),
      .index_i            (11'(addr[6:3])),
      .high_i             (addr[2]),
      .data_o             (count_data)
  );

  always_ff @(posedge clk) begin
    pulses_q <= pulses_i;
    answer_q <= {answer_q[0], req};
    ack_q <= answer_q[1];
    if (req) regs_data_q <= addr[15:12] == REGS && low ? regs_data : '0;
    qp_data_q <= '0;
    for (int unsigned w = 0; w < QP_WORDS; w++) begin
      if (addr[15:12] == QP && low && addr[6:2] == 5'(w)) qp_data_q <= qp_q[w];
    end
    read_data_q <= regs_data_q | qp_data_q | (addr[15:12] == COUNTS && low ? count_data : '0) | correction_data
        | link_data;
    if (rst) begin
      pulses_q <= '0;
      answer_q <= '0;
      ack_q <= 1'b0;
    end
  end

  if (Correct) begin : gen_correction
    typedef struct packed {
      logic [31:0] errors;
      logic [15:0] unused_timeout;
      logic [15:0] timeout;
      logic [31:0] pitch;
      logic [63:0] base;
      logic [31:0] settings;
      logic [31:0] present;
    } words_t;

    localparam int unsigned WORDS = 7;
    localparam logic [31:0] SETTINGS = 32'h1F1F_1F03;  // bits that there are

    words_t words_q;
    logic [WORDS-1:0][31:0] words;
    logic here, write;

    assign here = addr[15:12] == CORRECTION && low;
    assign write = req && req_write && here && mask == '1;
    assign words = words_q;

    always_ff @(posedge clk) begin
      if (write) begin
        unique case (addr[6:2])
          5'd1: words_q.settings <= data & SETTINGS;
          5'd2: words_q.base[31:0] <= data;
          5'd3: words_q.base[63:32] <= data;
          5'd4: words_q.pitch <= data;
          5'd5: words_q.timeout <= data[15:0];
          default: ;
        endcase
      end
      words_q.present <= 32'd1;
      words_q.unused_timeout <= '0;
      words_q.errors <= clear ? '0 : words_q.errors + 32'(constant_error_i);
      correction_data <= '0;
      for (int unsigned w = 0; w < WORDS; w++) if (here && addr[6:2] == 5'(w)) correction_data <= words[w];
      if (rst) words_q <= '0;
    end

    assign memory_limit_o = words_q.timeout;
    always_comb begin
      correction_o = '0;
      correction_o.pitch = words_q.pitch;
      correction_o.base = words_q.base;
      correction_o.shift = {words_q.settings[28:24], words_q.settings[20:16], words_q.settings[12:8]};
      correction_o.high_gain = words_q.settings[1];
      correction_o.enabled = words_q.settings[0];
    end
  end else begin : gen_no_correction
    assign {correction_o, memory_limit_o, correction_data} = '0;

    logic unused_correction;
    assign unused_correction = constant_error_i;
  end

  // The counters of the links: four places each
  if (Links > 8) begin : gen_check_links
    $error("%m: Links = %0d must be 0 to 8", Links);
  end

  if (Links > 0) begin : gen_links
    localparam int unsigned PULSES = 4 * (Links + 1) > 16 ? 4 * (Links + 1) : 16;
    localparam int unsigned PLACES = 64;

    logic [PULSES-1:0] link_pulses_q;
    logic [31:0] word;
    count_t no_count;
    logic here, no_count_ready;

    always_ff @(posedge clk) begin
      link_pulses_q <= '0;
      for (int unsigned k = 0; k <= Links; k++) begin
        link_pulses_q[4*k+:3] <= {link_lost_i[k], link_bad_i[k], link_frame_i[k]} & {3{!rst}};
      end
    end

    assign no_count = '0;

    counters #(
        .Counters(PLACES + 1),
        .Pulses  (PULSES)
    ) u_counters (
        .clk,
        .rst,
        .pulse_i            (link_pulses_q),
        .s_axis_count_tdata (no_count),
        .s_axis_count_tvalid(1'b0),
        .s_axis_count_tready(no_count_ready),
        .snapshot_i         (regs.command.snapshot.value),
        .clear_i            (clear),
        .busy_o             (links_busy),
        .index_i            (11'(addr[8:3])),
        .high_i             (addr[2]),
        .data_o             (word)
    );

    assign here = addr[15:12] == LINKS && addr[11:9] == '0;
    assign link_data = here ? word : '0;

    logic unused_links;
    assign unused_links = no_count_ready;
  end else begin : gen_no_links
    assign {links_busy, link_data} = '0;

    logic unused_links;
    assign unused_links = ^{link_frame_i, link_bad_i, link_lost_i};
  end

  // A tick now and then
  logic [TICK_LOG2-1:0] tick_q;

  always_ff @(posedge clk) begin
    tick_q <= tick_q + 1'b1;
    tick_o <= tick_q == '1;
    if (rst) begin
      tick_q <= '0;
      tick_o <= 1'b0;
    end
  end

  assign first_port_o = regs.ports.first.value;
  assign modules_o = regs.ports.modules.value;
  assign two_ports_o = regs.control.two_ports.value;
  assign window_end_o = regs.window_end.value.value;
  assign timeout_o = regs.timeout.value.value;
  assign announce_o = regs.command.announce.value;
  assign target_o = '{
          mask_offset: regs.mask_offset.value.value,
          trailer_offset: regs.trailer_offset.value.value,
          reach: regs.reach.value.value,
          first: regs.first.value.value,
          learn: regs.control.learn.value,
          base: regs.base.value.value,
          slot_bytes: regs.slot_bytes.value.value,
          slots_log2: regs.ring.slots_log2.value,
          first_source: regs.ring.first_source.value,
          qp: '0
      };
  // What cannot wait takes no pauses.
  assign station_o = '{
          arp_enabled: regs.station.arp.value,
          echo_enabled: regs.station.ping.value,
          pause_honoured: 1'b0,
          data_priorities: '0,
          control_priorities: '0,
          quanta_per_clock: '0,
          clocks_per_ms: CLOCKS_PER_MS,
          timeout_ms: '0,
          retries: '0,
          tag: '{has_vlan: regs.station.has_vlan.value, tci: regs.station.tci.value},
          ip: regs.local_ip.value.value,
          mac: regs.local_mac.value.value
      };

  always_comb begin
    regs_in.sizes = '{
        data_width: '{next: 12'(DataW)},
        modules: '{next: 5'(Modules)},
        packets: '{next: 9'(Packets)}
    };
    regs_in.packet_bytes.value.next = 32'(PacketBytes);
    regs_in.clock_hz.value.next = 32'(ClockHz);
    regs_in.build.value.next = 32'(Build);
    regs_in.links = '{count: '{next: 4'(Links)}, up: '{next: Links > 0 ? 8'(links_up_i) : '0}};
    regs_in.control.arm.hwclr = resetting;
    regs_in.status = '{
        idle: '{next: idle_i},
        armed: '{next: armed_o},
        resetting: '{next: resetting},
        snapshot_busy: '{next: counts_busy || links_busy},
        qp_busy: '{next: qp_busy},
        link: '{next: link_up_i}
    };
  end

  logic unused_rest;
  assign unused_rest = ^{unused, count_ready, qp_index, addr[1:0]};

endmodule
