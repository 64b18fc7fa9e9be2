// A frame_store behind guards: memory that stands still is noticed, and holds up no reset. Its AXI ports are flat. Wiring only.
//
//   pixels -> frame_store -> write_guard, one for each kind of image -> memory
//                  ^-------- read_guard, one for each plane of the constants <-'
module guarded_store
  import axi_pkg::*;
  import framelane_pkg::*;
  import jf_pkg::PLANES;
#(
    parameter int unsigned DataW    = 512,
    parameter int unsigned AddrW    = 64,
    parameter int unsigned IdW      = 1,
    parameter int unsigned MaxSlots = 1024,
    parameter bit          Correct  = 1'b1,  // JUNGFRAU correction, where the registers switch it on
    parameter int unsigned MaxBurst = 256,   // beats of the longest burst
    parameter bit          TimeFlags = 1'b0,  // 0: no frame has time_flags

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,  // of the guards; the store's is in store_i

    // The transmitter behind it
    input  store_control_t store_i,
    output store_report_t  store_o,

    // Pixels: one packet a frame
    input  logic        [DataW-1:0] s_axis_pixel_tdata,
    input  logic        [KeepW-1:0] s_axis_pixel_tkeep,
    input  logic                    s_axis_pixel_tlast,
    input  frame_info_t             s_axis_pixel_tuser,   // with the first beat
    input  logic                    s_axis_pixel_tvalid,
    output logic                    s_axis_pixel_tready,
    input  logic                    pixel_cut_i,          // with tlast: the packet was cut on its way, its frame is bad
    input  logic                    pixel_restart_i,      // with rst: what comes next begins a packet

    // AXI4 write masters: the frame memory. Raw images
    output logic [  IdW-1:0] m_axi_awid,
    output logic [AddrW-1:0] m_axi_awaddr,
    output logic [      7:0] m_axi_awlen,
    output logic [      2:0] m_axi_awsize,
    output logic [      1:0] m_axi_awburst,
    output logic [      3:0] m_axi_awcache,
    output logic [      2:0] m_axi_awprot,
    output logic             m_axi_awvalid,
    input  logic             m_axi_awready,
    output logic [DataW-1:0] m_axi_wdata,
    output logic [KeepW-1:0] m_axi_wstrb,
    output logic             m_axi_wlast,
    output logic             m_axi_wvalid,
    input  logic             m_axi_wready,
    input  logic [  IdW-1:0] m_axi_bid,
    input  logic [      1:0] m_axi_bresp,
    input  logic             m_axi_bvalid,
    output logic             m_axi_bready,

    // Corrected images
    output logic [  IdW-1:0] m_axi_corrected_awid,
    output logic [AddrW-1:0] m_axi_corrected_awaddr,
    output logic [      7:0] m_axi_corrected_awlen,
    output logic [      2:0] m_axi_corrected_awsize,
    output logic [      1:0] m_axi_corrected_awburst,
    output logic [      3:0] m_axi_corrected_awcache,
    output logic [      2:0] m_axi_corrected_awprot,
    output logic             m_axi_corrected_awvalid,
    input  logic             m_axi_corrected_awready,
    output logic [DataW-1:0] m_axi_corrected_wdata,
    output logic [KeepW-1:0] m_axi_corrected_wstrb,
    output logic             m_axi_corrected_wlast,
    output logic             m_axi_corrected_wvalid,
    input  logic             m_axi_corrected_wready,
    input  logic [  IdW-1:0] m_axi_corrected_bid,
    input  logic [      1:0] m_axi_corrected_bresp,
    input  logic             m_axi_corrected_bvalid,
    output logic             m_axi_corrected_bready,

    // AXI4 read masters: the planes of the constants
    output logic [PLANES-1:0][  IdW-1:0] m_axi_constant_arid,
    output logic [PLANES-1:0][AddrW-1:0] m_axi_constant_araddr,
    output logic [PLANES-1:0][      7:0] m_axi_constant_arlen,
    output logic [PLANES-1:0][      2:0] m_axi_constant_arsize,
    output logic [PLANES-1:0][      1:0] m_axi_constant_arburst,
    output logic [PLANES-1:0][      3:0] m_axi_constant_arcache,
    output logic [PLANES-1:0][      2:0] m_axi_constant_arprot,
    output logic [PLANES-1:0]            m_axi_constant_arvalid,
    input  logic [PLANES-1:0]            m_axi_constant_arready,
    input  logic [PLANES-1:0][  IdW-1:0] m_axi_constant_rid,
    input  logic [PLANES-1:0][DataW-1:0] m_axi_constant_rdata,
    input  logic [PLANES-1:0][      1:0] m_axi_constant_rresp,
    input  logic [PLANES-1:0]            m_axi_constant_rlast,
    input  logic [PLANES-1:0]            m_axi_constant_rvalid,
    output logic [PLANES-1:0]            m_axi_constant_rready,

    // Frames that lie complete in memory; each release frees the oldest one's slot
    output frame_t m_axis_frame_tdata,
    output logic   m_axis_frame_tvalid,
    input  logic   m_axis_frame_tready,
    input  logic   release_i             // pulse
);

  axi_write_request_t raw_request, corrected_request;
  axi_write_response_t raw_response, corrected_response;
  axi_read_request_t [PLANES-1:0] constant_request;
  axi_read_response_t [PLANES-1:0] constant_response;

  // Data return in order
  assign raw_response = '{awready: m_axi_awready, wready: m_axi_wready, bresp: m_axi_bresp, bvalid: m_axi_bvalid};
  assign m_axi_awid = '0;
  assign m_axi_awaddr = AddrW'(raw_request.awaddr);
  assign m_axi_awlen = raw_request.awlen;
  assign m_axi_awsize = raw_request.awsize;
  assign m_axi_awburst = raw_request.awburst;
  assign m_axi_awcache = raw_request.awcache;
  assign m_axi_awprot = raw_request.awprot;
  assign m_axi_awvalid = raw_request.awvalid;
  assign m_axi_wlast = raw_request.wlast;
  assign m_axi_wvalid = raw_request.wvalid;
  assign m_axi_bready = raw_request.bready;

  assign corrected_response = '{
          awready: m_axi_corrected_awready,
          wready: m_axi_corrected_wready,
          bresp: m_axi_corrected_bresp,
          bvalid: m_axi_corrected_bvalid
      };
  assign m_axi_corrected_awid = '0;
  assign m_axi_corrected_awaddr = AddrW'(corrected_request.awaddr);
  assign m_axi_corrected_awlen = corrected_request.awlen;
  assign m_axi_corrected_awsize = corrected_request.awsize;
  assign m_axi_corrected_awburst = corrected_request.awburst;
  assign m_axi_corrected_awcache = corrected_request.awcache;
  assign m_axi_corrected_awprot = corrected_request.awprot;
  assign m_axi_corrected_awvalid = corrected_request.awvalid;
  assign m_axi_corrected_wlast = corrected_request.wlast;
  assign m_axi_corrected_wvalid = corrected_request.wvalid;
  assign m_axi_corrected_bready = corrected_request.bready;

  for (genvar k = 0; k < PLANES; k++) begin : gen_plane
    assign constant_response[k] = '{
            arready: m_axi_constant_arready[k], rresp: m_axi_constant_rresp[k],
            rlast: m_axi_constant_rlast[k], rvalid: m_axi_constant_rvalid[k]
        };
    assign m_axi_constant_arid[k] = '0;
    assign m_axi_constant_araddr[k] = AddrW'(constant_request[k].araddr);
    assign m_axi_constant_arlen[k] = constant_request[k].arlen;
    assign m_axi_constant_arsize[k] = constant_request[k].arsize;
    assign m_axi_constant_arburst[k] = constant_request[k].arburst;
    assign m_axi_constant_arcache[k] = constant_request[k].arcache;
    assign m_axi_constant_arprot[k] = constant_request[k].arprot;
    assign m_axi_constant_arvalid[k] = constant_request[k].arvalid;
    assign m_axi_constant_rready[k] = constant_request[k].rready;
  end

  logic unused;
  assign unused = ^{m_axi_bid, m_axi_corrected_bid, m_axi_constant_rid};

  axi_read_request_t [PLANES-1:0] store_request;
  axi_read_response_t [PLANES-1:0] store_response;
  logic [PLANES-1:0][DataW-1:0] store_rdata;
  axi_write_request_t [1:0] write_request;  // {corrected images, raw ones}
  axi_write_response_t [1:0] write_response;
  logic [1:0][DataW-1:0] write_data;
  logic [1:0][KeepW-1:0] write_strb;
  logic [PLANES+1:0] late, owes, left, fired;  // {writers, planes}

  assign store_o.stuck = late != '0;
  assign store_o.owes = owes != '0;
  assign store_o.left = left != '0;
  assign store_o.timeout = fired != '0;

  // Copies of both resets, a cycle later, so that no net drives too much. rst_q: [0] and [1] half of the planes' guards each, [2] those
  // of the images. store_rst_q: as frame_store has them. The store is armed only behind them. A copy asks whether it changes: tools
  // make one of equal ones.
  localparam int unsigned HALF = PLANES / 2;
  (* keep, dont_merge *)logic [2:0] rst_q = '1;
  (* keep, dont_merge *)logic [1:0] store_rst_q = '1;

  always_ff @(posedge clk) begin
    for (int unsigned c = 0; c < 3; c++) if (rst_q[c] != rst) rst_q[c] <= rst;
    for (int unsigned c = 0; c < 2; c++) if (store_rst_q[c] != store_i.rst) store_rst_q[c] <= store_i.rst;
  end

  for (genvar k = 0; k < PLANES; k++) begin : gen_guard
    read_guard #(
        .DataW(DataW)
    ) u_guard (
        .clk,
        .rst        (rst_q[k<HALF?0:1]),
        .limit_i    (store_i.memory_limit),
        .drain_i    (store_i.drain),
        .s_axi_i    (store_request[k]),
        .s_axi_o    (store_response[k]),
        .s_axi_rdata(store_rdata[k]),
        .m_axi_o    (constant_request[k]),
        .m_axi_i    (constant_response[k]),
        .m_axi_rdata(m_axi_constant_rdata[k]),
        .late_o     (late[k]),
        .owes_o     (owes[k]),
        .left_o     (left[k]),
        .fired_o    (fired[k])
    );
  end

  write_guard #(
      .DataW(DataW)
  ) u_raw_guard (
      .clk,
      .rst        (rst_q[2]),
      .limit_i    (store_i.memory_limit),
      .drain_i    (store_i.drain),
      .s_axi_i    (write_request[0]),
      .s_axi_o    (write_response[0]),
      .s_axi_wdata(write_data[0]),
      .s_axi_wstrb(write_strb[0]),
      .m_axi_o    (raw_request),
      .m_axi_i    (raw_response),
      .m_axi_wdata,
      .m_axi_wstrb,
      .late_o     (late[PLANES]),
      .owes_o     (owes[PLANES]),
      .left_o     (left[PLANES]),
      .fired_o    (fired[PLANES])
  );

  if (Correct) begin : gen_corrected_guard
    write_guard #(
        .DataW(DataW)
    ) u_guard (
        .clk,
        .rst        (rst_q[2]),
        .limit_i    (store_i.memory_limit),
        .drain_i    (store_i.drain),
        .s_axi_i    (write_request[1]),
        .s_axi_o    (write_response[1]),
        .s_axi_wdata(write_data[1]),
        .s_axi_wstrb(write_strb[1]),
        .m_axi_o    (corrected_request),
        .m_axi_i    (corrected_response),
        .m_axi_wdata(m_axi_corrected_wdata),
        .m_axi_wstrb(m_axi_corrected_wstrb),
        .late_o     (late[PLANES+1]),
        .owes_o     (owes[PLANES+1]),
        .left_o     (left[PLANES+1]),
        .fired_o    (fired[PLANES+1])
    );
  end else begin : gen_no_corrected_guard
    assign {corrected_request, m_axi_corrected_wdata, m_axi_corrected_wstrb} = '0;
    assign write_response[1] = '0;
    assign {late[PLANES+1], owes[PLANES+1], left[PLANES+1], fired[PLANES+1]} = '0;

    logic unused_corrected;
    assign unused_corrected = ^{write_request[1], write_data[1], write_strb[1], corrected_response};
  end

  frame_store #(
      .DataW   (DataW),
      .AddrW   (AddrW),
      .MaxSlots(MaxSlots),
      .Correct (Correct),
      .MaxBurst(MaxBurst),
      .TimeFlags(TimeFlags)
  ) u_store (
      .clk,
      .rst                (store_rst_q),
      .base_i             (store_i.base),
      .slot_bytes_i       (store_i.slot_bytes),
      .slots_i            (store_i.slots),
      .armed_i            (store_i.armed),
      .abort_i            (store_i.aborting),
      .correction_i       (store_i.correction),
      .s_axis_pixel_tdata,
      .s_axis_pixel_tkeep,
      .s_axis_pixel_tlast,
      .s_axis_pixel_tuser,
      .s_axis_pixel_tvalid,
      .s_axis_pixel_tready,
      .pixel_cut_i,
      .pixel_restart_i,
      .m_axi_o            (write_request[0]),
      .m_axi_i            (write_response[0]),
      .m_axi_wdata        (write_data[0]),
      .m_axi_wstrb        (write_strb[0]),
      .m_axi_corrected_o  (write_request[1]),
      .m_axi_corrected_i  (write_response[1]),
      .m_axi_corrected_wdata(write_data[1]),
      .m_axi_corrected_wstrb(write_strb[1]),
      .m_axi_constant_o   (store_request),
      .m_axi_constant_i   (store_response),
      .m_axi_constant_rdata(store_rdata),
      .m_axis_frame_tdata,
      .m_axis_frame_tvalid,
      .m_axis_frame_tready,
      .release_i,
      .lost_o             (store_o.lost),
      .bad_o              (store_o.bad),
      .ignored_o          (store_o.ignored),
      .mismatch_o         (store_o.mismatch),
      .constant_error_o   (store_o.constant_error),
      .stall_o            (store_o.stall),
      .idle_o             (store_o.idle)
  );

endmodule
